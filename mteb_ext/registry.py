"""The one place that knows mteb's private registries.

mteb has no plugin mechanism; its listings, its look-ups and its command line read the module-level
names that are filled here (seen in mteb 2.26). Where one of them is gone, the user reads one
sentence that says so, and mteb works on without us.

Every step adds what is missing and nothing else, so that it can be run again at any time.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any

from mteb_ext.errors import CompatibilityError

if TYPE_CHECKING:
    from mteb.abstasks import AbsTask

DEFAULT_MODEL = "mteb-ext/token-cosine"
_MARK = "_filled_by_mteb_ext"


def fill(names: Sequence[str]) -> None:
    """Add what is missing from modules of mteb.

    Args:
        names: Those of the modules that have run, tasks before what needs them; ``mteb`` last.

    Raises:
        CompatibilityError: If this mteb lacks one of the names that are filled.
    """
    for name in names:
        if name in _STEPS:
            _STEPS[name](sys.modules[name])
    if "mteb" in names:
        for name in ("mteb.get_tasks", "mteb.models.model_implementations"):
            _module(name)


def _fill_tasks(module: ModuleType) -> None:
    """Add all discovered tasks to ``mteb.get_tasks``.

    Two names hold tasks there: the dictionary serves look-ups by name, the tuple every listing and
    filter. The ``NAME.sample`` twins go into the dictionary only: they can be named, and no listing
    shows them.
    """
    by_name = _private(module, "_TASKS_REGISTRY", dict)
    listed = _private(module, "TASK_LIST", tuple)

    from mteb_ext.bases import PaperTask, sample_twin
    from mteb_ext.plugins import own_tasks, plugin_tasks

    own = own_tasks()
    ours = [task for task in (*own, *plugin_tasks()) if _enter(task, by_name)]
    if set(ours) <= set(listed):
        return
    for task in ours:
        if task in own and issubclass(task, PaperTask):
            _enter(sample_twin(task), by_name)
    names = {task.metadata.name for task in ours}
    others = (task for task in listed if task.metadata.name not in names)
    _replace(listed, "TASK_LIST", (*others, *ours))
    _share_data(_module("mteb.models.model_meta"), ours)
    _forget_what_was_computed()


def _enter(task: type[AbsTask], by_name: dict[str, type[AbsTask]]) -> bool:
    """Enter a task into the dictionary if its name is free, or held by an older copy of it."""
    holder = by_name.setdefault(task.metadata.name, task)
    if _path(holder) != _path(task):
        _warn_once(
            f"the task {task.metadata.name!r} of {task.__module__} is not registered, since "
            f"{_path(holder)} has that name"
        )
        return False
    by_name[task.metadata.name] = task
    return True


def _path(task: type) -> str:
    return f"{task.__module__}.{task.__qualname__}"


def _share_data(module: ModuleType, ours: Iterable[type[AbsTask]]) -> None:
    """Tell mteb's zero-shot verdicts which tasks of ours share data with which (``adapted_from``).

    mteb has a table of similar tasks, which it follows in both directions and without end: a task
    of ours in it that shares data with two of mteb's would change the verdicts on those two.
    """
    collect = _private(module, "_collect_similar_tasks", Callable)
    shares = {task.metadata.name: set(task.metadata.adapted_from or ()) for task in ours}

    def collect_with_ours(dataset: str, visited: set[str]) -> set[str]:
        similar: set[str] = collect(dataset, visited)
        reached = {dataset, *similar.difference(shares)}  # not on from one of ours to the next
        adapted = {name for name, parents in shares.items() if parents & reached}
        parents = shares.get(dataset, set())
        return similar.union(adapted, parents, *(collect(parent, visited) for parent in parents))

    module._collect_similar_tasks = collect_with_ours  # type: ignore[attr-defined]


def _fill_models(module: ModuleType) -> None:
    """Add the lexical baselines to mteb's model registry."""
    by_name = _private(module, "MODEL_REGISTRY", dict)

    from mteb_ext.models import MODEL_METAS

    missing = {m.name: m for m in MODEL_METAS if by_name.get(m.name) is not m}
    if missing:
        by_name.update(missing)
        _forget_what_was_computed()


def _fill_benchmarks(module: ModuleType) -> None:
    """Add one benchmark a paper, and one of them all, to ``mteb.benchmarks.benchmarks``.

    mteb finds benchmarks by scanning that module's attributes, and remembers what it found.
    """
    from mteb.benchmarks.benchmark import Benchmark

    if hasattr(module, _MARK):
        return

    from mteb_ext.benchmarks import benchmarks

    names = {value.name for value in vars(module).values() if isinstance(value, Benchmark)}
    for attribute, benchmark in benchmarks().items():
        if benchmark.name in names or hasattr(module, attribute):
            _warn_once(f"mteb has a benchmark {benchmark.name!r} already; that one is kept")
        else:
            setattr(module, attribute, benchmark)
    setattr(module, _MARK, True)
    _forget_what_was_computed()


def _add_default_model(module: ModuleType) -> None:
    """Let ``mteb run -t JACSTS QABot WikiQA`` work without ``-m``: our lexical baseline runs then.

    Only where every task of the run is ours; any other run keeps mteb's own error.
    """
    if hasattr(module, _MARK):
        return
    run = _private(module, "run", Callable)

    def run_with_default_model(args: argparse.Namespace) -> None:
        if args.model is None and _only_ours(args):
            args.model = DEFAULT_MODEL
            print(f"No model given (-m): running the lexical baseline {DEFAULT_MODEL}.")
        run(args)

    module.run = run_with_default_model  # type: ignore[attr-defined]
    setattr(module, _MARK, True)


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


_STEPS: dict[str, Callable[[ModuleType], None]] = {
    "mteb.get_tasks": _fill_tasks,
    "mteb.models.model_implementations": _fill_models,
    "mteb.benchmarks.benchmarks": _fill_benchmarks,
    "mteb.cli.build_cli": _add_default_model,
}


def _replace(old: object, name: str, new: object) -> None:
    """Give a name its new value in every module of mteb that imported the old one."""
    for module in _modules_of_mteb():
        if vars(module).get(name) is old:
            setattr(module, name, new)


def _forget_what_was_computed() -> None:
    """Empty mteb's caches of what it once computed from its registries: it must look again."""
    for module in _modules_of_mteb("benchmarks", "api", "results", "leaderboard"):
        for value in list(vars(module).values()):
            if callable(clear := getattr(value, "cache_clear", None)):
                clear()


def _modules_of_mteb(*rooms: str) -> Iterator[ModuleType]:
    starts = tuple(f"mteb.{room}" for room in rooms or ("",))
    for name, module in list(sys.modules.items()):
        if name.startswith(starts) and isinstance(module, ModuleType):
            yield module


def _module(name: str) -> ModuleType:
    module = sys.modules.get(name)
    if module is None:
        raise CompatibilityError(f"this mteb has no module {name}")
    return module


def _private(module: ModuleType, name: str, kind: Any) -> Any:  # noqa: ANN401 - what mteb keeps there
    value = getattr(module, name, None)
    if not isinstance(value, kind):
        raise CompatibilityError(
            f"{module.__name__}.{name} of this mteb is not what mteb_ext relies on"
        )
    return value


@cache
def _warn_once(clash: str) -> None:
    warnings.warn(f"mteb_ext: {clash}.", RuntimeWarning, stacklevel=2)
