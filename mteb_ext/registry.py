"""The one place that knows mteb's private registries.

mteb has no plugin mechanism; its listings, its look-ups and its command line read the module-level
names that are filled here (seen in mteb 2.26). Where one of them is gone, the user reads one
sentence that says so, and mteb works on without us.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import TYPE_CHECKING, Any

from mteb_ext.errors import CompatibilityError

if TYPE_CHECKING:
    from mteb.abstasks import AbsTask

DEFAULT_MODEL = "mteb-ext/token-cosine"


def register_tasks(module: ModuleType) -> None:
    """Add all discovered tasks to ``mteb.get_tasks``.

    Three names hold tasks there: the dictionary serves look-ups by name, the tuple every listing
    and filter, and the third tells which tasks' training data overlap. The ``NAME.sample`` twins go
    into the dictionary only: they can be named, and no listing shows them.

    Raises:
        CompatibilityError: If this mteb lacks one of the names.
    """
    by_name = _private(module, "_TASKS_REGISTRY", dict)
    listed = _private(module, "TASK_LIST", tuple)
    similar = _private(module, "_SIMILAR_TASKS", dict)
    make_similar = _private(module, "_create_similar_tasks", Callable)

    from mteb_ext.bases import PaperTask, sample_twin
    from mteb_ext.plugins import own_tasks, plugin_tasks

    own, others = own_tasks(), plugin_tasks()  # all of it before anything is entered
    clashes: list[str] = []
    new = [task for task in (*own, *others) if _enter(task, by_name, clashes)]
    module.TASK_LIST = (*listed, *new)  # type: ignore[attr-defined]
    for parent, names in make_similar(new).items():
        similar.setdefault(parent, []).extend(names)
    for task in own:
        if task in new and issubclass(task, PaperTask):
            _enter(sample_twin(task), by_name, clashes)
    _warn_of_clashes(clashes)


def _enter(task: type[AbsTask], by_name: dict[str, type[AbsTask]], clashes: list[str]) -> bool:
    """Enter a task into the dictionary if its name is free; note it where it is not."""
    holder = by_name.setdefault(task.metadata.name, task)
    if holder is not task:
        clashes.append(
            f"the task {task.metadata.name!r} of {task.__module__} is not registered, since "
            f"{holder.__module__}.{holder.__qualname__} has that name"
        )
    return holder is task


def _warn_of_clashes(clashes: Iterable[str]) -> None:
    for clash in clashes:
        warnings.warn(f"mteb_ext: {clash}.", RuntimeWarning, stacklevel=2)


def register_models(module: ModuleType) -> None:
    """Add the lexical baselines to mteb's model registry.

    Raises:
        CompatibilityError: If this mteb lacks the registry.
    """
    by_name = _private(module, "MODEL_REGISTRY", dict)

    from mteb_ext.models import MODEL_METAS

    taken = [meta.name for meta in MODEL_METAS if by_name.setdefault(meta.name, meta) is not meta]
    _warn_of_clashes(f"mteb has a model {name!r} already; that one is kept" for name in taken)


def register_benchmarks(module: ModuleType) -> None:
    """Add one benchmark a paper, and one of them all, to ``mteb.benchmarks.benchmarks``.

    mteb finds benchmarks by scanning that module's attributes, and remembers what it found.

    Raises:
        CompatibilityError: If this mteb does not find benchmarks that way.
    """
    from mteb.benchmarks.benchmark import Benchmark

    from mteb_ext.benchmarks import benchmarks

    names = {value.name for value in vars(module).values() if isinstance(value, Benchmark)}
    taken = []
    for attribute, benchmark in benchmarks().items():
        if benchmark.name in names or hasattr(module, attribute):
            taken.append(benchmark.name)
        else:
            setattr(module, attribute, benchmark)
    _warn_of_clashes(f"mteb has a benchmark {name!r} already; that one is kept" for name in taken)
    # Where mteb has been asked for a benchmark before, it must look again. (The function of the
    # same name shadows the module as an attribute of its package.)
    if finder := sys.modules.get("mteb.benchmarks.get_benchmark"):
        for cached in ("_build_registry", "_build_aliases_registry"):
            _private(finder, cached, Callable).cache_clear()


def register_default_model(module: ModuleType) -> None:
    """Let ``mteb run -t JACSTS QABot WikiQA`` work without ``-m``: our lexical baseline runs then.

    Only where every task of the run is ours; any other run keeps mteb's own error.

    Raises:
        CompatibilityError: If this mteb has no such command.
    """
    run = _private(module, "run", Callable)

    def run_with_default_model(args: argparse.Namespace) -> None:
        if args.model is None and _only_ours(args):
            args.model = DEFAULT_MODEL
            print(f"No model given (-m): running the lexical baseline {DEFAULT_MODEL}.")
        run(args)

    module.run = run_with_default_model  # type: ignore[attr-defined]


def _only_ours(args: argparse.Namespace) -> bool:
    import mteb

    from mteb_ext.bases import PaperTask

    try:
        if args.benchmarks:
            tasks = [task for name in args.benchmarks for task in mteb.get_benchmark(name).tasks]
        else:
            tasks = [mteb.get_task(name) for name in args.tasks or ()]
    except KeyError:
        return False  # an unknown name: mteb says so itself
    return bool(tasks) and all(isinstance(task, PaperTask) for task in tasks)


def _private(module: ModuleType, name: str, kind: Any) -> Any:  # noqa: ANN401 - what mteb keeps there
    value = getattr(module, name, None)
    if not isinstance(value, kind):
        raise CompatibilityError(
            f"{module.__name__}.{name} of this mteb is not what mteb_ext relies on"
        )
    return value
