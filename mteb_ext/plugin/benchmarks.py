"""mteb benchmarks: one a paper, and one of all tasks.

The tasks name their paper, and the paper's benchmark holds all of them. mteb's tables show each
task's headline under its name and metric, and no mean: one over MAP and Spearman, or over the
tracks of a shared task and another test set, has no meaning.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from mteb.abstasks import AbsTask
from mteb.benchmarks.benchmark import Benchmark, CustomGroup, CustomGrouping

from mteb_ext import papers
from mteb_ext.bases import PaperTask
from mteb_ext.plugin.discovery import own_tasks


@dataclass(frozen=True)
class _Definition:
    name: str
    paper: papers.Paper
    description: str


_DEFINITIONS = (
    _Definition(
        "JapaneseSTSIR",
        papers.SDJC,
        "Japanese clinical STS (Spearman) and educational question retrieval (MAP).",
    ),
    _Definition(
        "TANDA-AS2",
        papers.TANDA,
        "Answer sentence selection (MAP) on the question sets that TANDA evaluates on.",
    ),
    _Definition(
        "SemEval2017-STS",
        papers.SEMEVAL2017,
        "SemEval-2017 Task 1: the mean Pearson of tracks 1 to 5, the shared task's Primary; track "
        "6, Turkish and English; and the STS Benchmark.",
    ),
    _Definition(
        "WMT17-Metrics",
        papers.BERT_REGRESSOR,
        "WMT17 metrics task to English, segment level: the mean Pearson of seven language pairs, "
        "with the reference and, as quality estimation, with the source.",
    ),
)
_ALL = (
    "All tasks of mteb_ext, each under its paper's own protocol. Read the tasks one by one: a mean "
    "over MAP, Spearman and Pearson has no meaning."
)


@cache
def benchmarks() -> tuple[Benchmark, ...]:
    """The benchmarks; mteb must know the tasks by then."""
    tasks = [task for each in own_tasks() if (task := _registered(each)) is not None]
    return (
        *(
            _benchmark(
                given.name,
                [task for task in tasks if task.paper == given.paper],
                given.description,
                given.paper.url,
            )
            for given in _DEFINITIONS
        ),
        _benchmark("mteb-ext", tasks, _ALL, None),
    )


def _benchmark(
    name: str, tasks: Sequence[PaperTask], description: str, reference: str | None
) -> Benchmark:
    from mteb.get_tasks import MTEBTasks

    groups = [CustomGroup(f"{t.metadata.name} ({t.metadata.main_score})", [t]) for t in tasks]
    return Benchmark(
        name=name,
        tasks=MTEBTasks(tasks),
        description=description,
        reference=reference,
        citation=_citation(tasks),
        aggregations=(CustomGrouping("Headline", groups),),
    )


def _registered(task: type[AbsTask]) -> PaperTask | None:
    """The task; None where mteb has taken its name for another one, which no paper's part is."""
    from mteb.get_tasks import get_task

    try:
        found = get_task(task.metadata.name)
    except KeyError:
        return None
    return found if isinstance(found, PaperTask) else None


def _citation(tasks: Sequence[AbsTask]) -> str:
    """The BibTeX entries of the tasks, each once."""
    entries = (re.split(r"^(?=@)", t.metadata.bibtex_citation or "", flags=re.M) for t in tasks)
    return "\n".join(dict.fromkeys(e.strip() for parts in entries for e in parts if e.strip()))
