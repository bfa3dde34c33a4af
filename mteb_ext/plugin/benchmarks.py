"""mteb benchmarks: one a paper, and one of all tasks.

The tasks of a paper's benchmark are those of its headline. Where the paper has one number, mteb's
tables show that number as the mean. Where it has several they show each, under its task and metric,
and no mean: one over MAP and Spearman has no meaning.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from mteb.abstasks import AbsTask
from mteb.benchmarks.benchmark import (
    Benchmark,
    BenchmarkAggregation,
    CustomGroup,
    CustomGrouping,
)

from mteb_ext import papers
from mteb_ext.bases import PaperTask


@dataclass(frozen=True)
class _Definition:
    name: str
    tasks: tuple[str, ...]
    description: str
    paper: papers.Paper | None


_DEFINITIONS = (
    _Definition(
        "JapaneseSTSIR",
        ("JACSTS", "QABot"),
        "Japanese clinical STS (Spearman) and educational question retrieval (MAP).",
        papers.SDJC,
    ),
    _Definition(
        "TANDA-AS2",
        ("WikiQA", "TRECQA"),
        "Answer sentence selection (MAP) on the question sets that TANDA evaluates on.",
        papers.TANDA,
    ),
    _Definition(
        "SemEval2017-STS",
        ("STS17SemEval",),
        "SemEval-2017 Task 1: the mean Pearson of tracks 1 to 5, the shared task's Primary.",
        papers.SEMEVAL2017,
    ),
    _Definition(
        "WMT17-Metrics",
        ("WMT17Metrics",),
        "WMT17 metrics task to English, segment level: the mean Pearson of seven language pairs.",
        papers.BERT_REGRESSOR,
    ),
    _Definition(
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
)


@cache
def benchmarks() -> tuple[Benchmark, ...]:
    """The benchmarks; mteb must know the tasks by then."""
    return tuple(map(_benchmark, _DEFINITIONS))


def _benchmark(given: _Definition) -> Benchmark:
    from mteb.get_tasks import MTEBTasks

    tasks = [task for name in given.tasks if (task := _task_of_ours(name)) is not None]
    return Benchmark(
        name=given.name,
        tasks=MTEBTasks(tasks),
        description=given.description,
        reference=given.paper.url if given.paper else None,
        citation=_citation(tasks),
        aggregations=_columns(tasks),
    )


def _task_of_ours(name: str) -> PaperTask | None:
    """The task; None where mteb has taken its name for another one, which no paper's part is."""
    from mteb.get_tasks import get_task

    try:
        task = get_task(name)
    except KeyError:
        return None
    return task if isinstance(task, PaperTask) else None


def _columns(tasks: Sequence[AbsTask]) -> Sequence[BenchmarkAggregation | CustomGrouping]:
    """What mteb's tables show of a model: the task's score, or the score of each task."""
    if len(tasks) == 1:
        return (BenchmarkAggregation.MEAN_TASK,)
    groups = [CustomGroup(f"{t.metadata.name} ({t.metadata.main_score})", [t]) for t in tasks]
    return (CustomGrouping("Headline", groups),)


def _citation(tasks: Sequence[AbsTask]) -> str:
    """The BibTeX entries of the tasks, each once."""
    entries = (re.split(r"^(?=@)", t.metadata.bibtex_citation or "", flags=re.M) for t in tasks)
    return "\n".join(dict.fromkeys(e.strip() for parts in entries for e in parts if e.strip()))
