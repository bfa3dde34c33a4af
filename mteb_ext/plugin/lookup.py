"""Tasks and benchmarks by name: every command and function finds them here."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from mteb_ext.environment import DISABLE, is_set
from mteb_ext.errors import DataError
from mteb_ext.names import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mteb.abstasks import AbsTask
    from mteb.benchmarks.benchmark import Benchmark

    from mteb_ext.bases import PaperTask


def find_task(name: str, **options: Any) -> AbsTask:
    """The task of a name, ours or mteb's.

    Args:
        name: A task's name.
        options: Of ``mteb.get_task``, such as ``eval_splits``.

    Raises:
        DataError: If mteb knows no such task here; close names are offered.
    """
    import mteb

    try:
        return mteb.get_task(name, **options)
    except KeyError:
        raise _unknown("task", name, _task_names) from None
    except Exception as error:  # a plugin's task may do anything
        raise DataError(f"{name} cannot be made: {type(error).__name__}: {error}") from error


def paper_task(name: str) -> type[PaperTask]:
    """The class of a task on this package's bases.

    Raises:
        DataError: If mteb knows no such task (close names are offered), or it is mteb's own.
    """
    from mteb_ext.bases import PaperTask

    task = type(find_task(name))
    if not issubclass(task, PaperTask):
        raise DataError(f"{name} is mteb's own task, not a task of mteb_ext; see 'mteb-ext tasks'.")
    return task


def find_benchmark(name: str) -> Benchmark:
    """The benchmark of a name, ours or mteb's.

    Raises:
        DataError: If mteb knows no such benchmark here; close names are offered.
    """
    import mteb

    try:
        return mteb.get_benchmark(name)
    except KeyError:
        raise _unknown("benchmark", name, _benchmark_names) from None


@cache
def _task_names() -> tuple[str, ...]:
    """All tasks that are listed, and the samples of ours, which are not."""
    import mteb

    from mteb_ext.bases import PaperTask
    from mteb_ext.bases.task import SAMPLE_SUFFIX

    tasks = mteb.get_tasks()  # makes a thousand of them, which takes a second
    samples = (f"{t.metadata.name}{SAMPLE_SUFFIX}" for t in tasks if isinstance(t, PaperTask))
    return (*(task.metadata.name for task in tasks), *samples)


def _benchmark_names() -> list[str]:
    import mteb

    return [benchmark.name for benchmark in mteb.get_benchmarks()]


def _unknown(what: str, name: str, known: Callable[[], Iterable[str]]) -> DataError:
    if is_set(DISABLE):
        return DataError(
            f"mteb itself has no {what} {name!r}, and {DISABLE} is set, which turns those of "
            "mteb_ext and of its plugins off: unset it."
        )
    return DataError(f"there is no {what} {name!r}.{did_you_mean(name, known())}")
