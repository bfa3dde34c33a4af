"""The tasks of a run, ours and mteb's, by name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from mteb_ext.errors import DataError
from mteb_ext.names import did_you_mean
from mteb_ext.plugin.lookup import find_benchmark, find_task

if TYPE_CHECKING:
    from mteb.abstasks import AbsTask


def task_of_run(
    name: str,
    eval_splits: Sequence[str] = (),
    eval_subsets: Sequence[str] = (),
) -> AbsTask:
    """A task by its name, reduced to some splits and subsets.

    Raises:
        DataError: If there is no such task (close names are offered), split or subset.
    """
    from mteb_ext.bases import PaperTask

    task = find_task(name, eval_splits=list(eval_splits) or None)
    if isinstance(task, PaperTask):
        _check_names(name, "split", eval_splits, task.splits())
    if not eval_subsets:
        return task
    there = list(task.hf_subsets)
    _check_names(name, "subset", eval_subsets, there)
    return task.filter_languages(None, hf_subsets=[s for s in there if s in set(eval_subsets)])


def tasks_of_benchmarks(names: Iterable[str]) -> list[str]:
    """The names of the tasks of benchmarks, each once.

    Raises:
        DataError: If there is no such benchmark; close names are offered.
    """
    tasks = (task for name in names for task in find_benchmark(name).tasks)
    return list(dict.fromkeys(task.metadata.name for task in tasks))


def _check_names(task: str, what: str, asked: Sequence[str], there: Sequence[str]) -> None:
    if unknown := [name for name in asked if name not in there]:
        raise DataError(
            f"{task} has no {what} {unknown[0]!r}; it has {', '.join(there)}."
            f"{did_you_mean(unknown[0], there)}"
        )
