"""mteb benchmarks: one a paper, and one of all tasks.

The tasks of a paper's benchmark are those of its headline, so that where the paper has one number,
mteb's mean over the benchmark is that number.
"""

from __future__ import annotations

from dataclasses import dataclass

from mteb.benchmarks.benchmark import Benchmark

from mteb_ext.bases import PaperTask


@dataclass(frozen=True)
class _Paper:
    name: str
    tasks: tuple[str, ...]
    description: str
    reference: str | None


_PAPERS = {
    "JAPANESE_STS_IR": _Paper(
        "JapaneseSTSIR",
        ("JACSTS", "QABot"),
        "Japanese clinical STS (Spearman) and educational question retrieval (MAP).",
        "https://arxiv.org/abs/2503.09094",
    ),
    "TANDA_AS2": _Paper(
        "TANDA-AS2",
        ("WikiQA", "TRECQA"),
        "Answer sentence selection (MAP) on the question sets that TANDA evaluates on.",
        "https://arxiv.org/abs/1911.04118",
    ),
    "SEMEVAL2017_STS": _Paper(
        "SemEval2017-STS",
        ("STS17SemEval",),
        "SemEval-2017 Task 1: the mean Pearson of tracks 1 to 5, the shared task's Primary.",
        "https://aclanthology.org/S17-2001/",
    ),
    "WMT17_METRICS": _Paper(
        "WMT17-Metrics",
        ("WMT17Metrics",),
        "WMT17 metrics task to English, segment level: the mean Pearson of seven language pairs.",
        "https://arxiv.org/abs/1907.12679",
    ),
    "MTEB_EXT": _Paper(
        "mteb-ext",
        (
            "JACSTS",
            "QABot",
            "WikiQA",
            "TRECQA",
            "TRECQAUnmasked",
            "STS17SemEval",
            "STS17SemEvalTurkish",
            "STSBenchmarkSemEval",
            "WMT17Metrics",
            "WMT17MetricsQE",
        ),
        "All tasks of mteb_ext, each under its paper's own protocol. Read the tasks one by one: "
        "a mean over MAP, Spearman and Pearson has no meaning.",
        None,
    ),
}


def benchmarks() -> dict[str, Benchmark]:
    """The benchmarks, by the attribute name under which mteb keeps them."""
    return {attribute: _benchmark(paper) for attribute, paper in _PAPERS.items()}


def _benchmark(paper: _Paper) -> Benchmark:
    from mteb.get_tasks import MTEBTasks, get_task

    # A name that mteb has taken is another task, and no part of the paper's benchmark.
    tasks = [task for task in map(get_task, paper.tasks) if isinstance(task, PaperTask)]
    return Benchmark(
        name=paper.name,
        tasks=MTEBTasks(tasks),
        description=paper.description,
        reference=paper.reference,
        citation="".join(dict.fromkeys(task.metadata.bibtex_citation or "" for task in tasks)),
    )
