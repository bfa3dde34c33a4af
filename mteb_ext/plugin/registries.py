"""The one place that knows mteb's private registries.

mteb has no plugin mechanism; its listings, its look-ups and its command line read the module-level
names that are filled here (seen in mteb 2.26). Where one of them is gone, the user reads one
sentence that says so, and mteb works on without us.

Every step adds what is missing and nothing else, so that it can be run again at any time.
"""

from __future__ import annotations

import argparse
import logging
import re
import shlex
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, wraps
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from mteb_ext.errors import CompatibilityError

if TYPE_CHECKING:
    from mteb.abstasks import AbsTask

logger = logging.getLogger(__name__)

DEFAULT_MODEL = "mteb-ext/token-cosine"
MENU = "Papers' own protocols"


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
        for name in list(_STEPS)[:3]:
            _module(name)


def _fill_tasks(module: ModuleType) -> None:
    """Add all discovered tasks to ``mteb.get_tasks``.

    Two names hold tasks there: the dictionary serves look-ups by name, the tuple every listing and
    filter. The ``NAME.sample`` twins go into the dictionary only: they can be named, and no listing
    shows them.
    """
    by_name = _private(module, "_TASKS_REGISTRY", dict)
    listed = _private(module, "TASK_LIST", tuple)

    from mteb_ext.plugin.discovery import own_tasks, plugin_tasks, samples_of

    ours = [task for task in (*own_tasks(), *plugin_tasks()) if _enter(task, by_name)]
    if set(ours) <= set(listed):
        return
    for twin in samples_of(ours):
        _enter(twin, by_name)
    names = {task.metadata.name for task in ours}
    others = (task for task in listed if task.metadata.name not in names)
    _replace(listed, "TASK_LIST", (*others, *ours))
    _share_data(_module("mteb.models.model_meta"), ours)
    _leave_missing_data_to_the_tasks(ours)
    _forget_what_was_computed()


def _leave_missing_data_to_the_tasks(ours: Iterable[type[AbsTask]]) -> None:
    """Keep mteb from saying, twice, that private data is missing: our tasks say whom to ask."""
    from mteb_ext.bases import PaperTask

    private = [
        t.metadata.name for t in ours if issubclass(t, PaperTask) and not t.metadata.is_public
    ]
    if not private:
        return
    said_by_mteb = f"Dataset for private task '({'|'.join(map(re.escape, private))})' not found"
    warnings.filterwarnings("ignore", message=said_by_mteb)
    logging.getLogger("mteb.evaluate").addFilter(
        lambda record: not re.match(said_by_mteb, record.getMessage())
    )


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
    """Add the lexical baselines and the plugins' models to mteb's model registry."""
    by_name = _private(module, "MODEL_REGISTRY", dict)

    from mteb_ext.baselines import MODEL_METAS
    from mteb_ext.plugin.discovery import plugin_models

    missing = {m.name: m for m in MODEL_METAS if by_name.get(m.name) is not m}
    by_name.update(missing)
    for meta in plugin_models():
        if by_name.setdefault(str(meta.name), meta) is not meta:
            _warn_once(f"a plugin's model {meta.name!r} is not registered, since there is one")
    if missing:
        _forget_what_was_computed()


def _fill_benchmarks(module: ModuleType) -> None:
    """Add our benchmarks and the plugins' to ``mteb.benchmarks.benchmarks``.

    mteb finds benchmarks by scanning that module's attributes, and remembers what it found.
    """
    from mteb.benchmarks.benchmark import Benchmark

    from mteb_ext.plugin.benchmarks import benchmarks
    from mteb_ext.plugin.discovery import plugin_benchmarks

    by_name = {value.name: value for value in vars(module).values() if isinstance(value, Benchmark)}
    n_before = len(by_name)
    for benchmark in (*benchmarks(), *plugin_benchmarks()):
        if by_name.setdefault(benchmark.name, benchmark) is benchmark:
            setattr(module, f"mteb_ext {benchmark.name}", benchmark)
        else:
            _warn_once(f"the benchmark {benchmark.name!r} is not registered, since there is one")
    if len(by_name) > n_before:
        _forget_what_was_computed()


def _add_to_menu(module: ModuleType) -> None:
    """Add our benchmarks to the menus of mteb's leaderboard and of its API."""
    names = ("GP_BENCHMARK_ENTRIES", "HOME_BENCHMARK_ENTRIES")
    menus = [_private(module, name, list) for name in names]
    make_entry = _private(module, "MenuEntry", type)

    from mteb_ext.plugin.benchmarks import benchmarks
    from mteb_ext.plugin.discovery import plugin_benchmarks

    for menu in menus:
        if not any(entry.name == MENU for entry in menu):
            menu.append(make_entry(MENU, [*benchmarks(), *plugin_benchmarks()]))
            _forget_what_was_computed()


def _guard_submission(module: ModuleType) -> None:
    """Keep results that mteb's results repository cannot take out of ``mteb submit-results``.

    Its checks on a pull request look every task and model up in a plain mteb, and fail on names
    that mteb does not know.
    """
    cache = _private(module, "ResultCache", type)
    find = _private(cache, "_get_unsubmitted_results", Callable)
    if getattr(find, "__module__", None) == __name__:
        return

    @wraps(find)
    def without_ours(*args: Any, **kwargs: Any) -> dict[Any, list[Path]]:
        return _known_to_mteb(find(*args, **kwargs))

    without_ours.__module__ = __name__
    cache._get_unsubmitted_results = without_ours


def _known_to_mteb(found: Mapping[Any, list[Path]]) -> dict[Any, list[Path]]:
    """Results by model, without those of our and plugins' tasks and models, which are named."""
    from mteb_ext.bases.task import SAMPLE_SUFFIX
    from mteb_ext.plugin.discovery import added_models, added_tasks

    models, tasks = added_models(), added_tasks()
    kept = {}
    left_out = set()
    for model, paths in found.items():
        ours = {path for path in paths if path.stem.removesuffix(SAMPLE_SUFFIX) in tasks}
        if model.name in models:
            ours = set(paths)
        left_out |= {f"{path.stem} of {model.name}" for path in ours}
        if rest := [path for path in paths if path not in ours]:
            kept[model] = rest
    if left_out:
        logger.warning(
            "mteb_ext: not submitted: %s, since mteb's results repository takes only tasks and "
            "models that mteb itself has; they can go onto a leaderboard of your own, for which "
            "'mteb-ext verify' checks a folder and 'mteb-ext leaderboard' makes the pages.",
            ", ".join(sorted(left_out)),
        )
    return kept


def _complete_commands(module: ModuleType) -> None:
    """Complete ``mteb run`` and ``mteb create-model-results``."""
    _complete_run(module)
    _add_results_to_cards(module)


def _add_results_to_cards(module: ModuleType) -> None:
    """Put our tasks' results into the cards of ``mteb create-model-results``.

    mteb 2.26 writes cards without any results, of its own tasks too.
    """
    write = _private(module, "generate_model_card", Callable)
    if write.__module__ == __name__:
        return

    @wraps(write)
    def write_with_results(model_name: str, **options: Any) -> None:
        write(model_name, **options)

        from mteb_ext.bases.task import SAMPLE_SUFFIX
        from mteb_ext.plugin.discovery import added_tasks
        from mteb_ext.plugin.model_cards import add_results

        ours = {name + end for name in added_tasks() for end in ("", SAMPLE_SUFFIX)}
        tasks = [*options["tasks"], *(t for b in options["benchmarks"] or () for t in b.tasks)]
        wanted = ours & ({task.metadata.name for task in tasks} or ours)
        if wanted:
            add_results(options["output_path"], model_name, options["results_cache"], wanted)

    write_with_results.__module__ = __name__
    module.generate_model_card = write_with_results  # type: ignore[attr-defined]


def _complete_run(module: ModuleType) -> None:
    """Give ``mteb run`` a default model, and a hint where its model is a folder.

    Without ``-m`` our lexical baseline runs, if every task of the run is ours. Any other run keeps
    mteb's own error.
    """
    run = _private(module, "run", Callable)
    if run.__module__ == __name__:
        return

    @wraps(run)
    def run_with_default_model(args: argparse.Namespace) -> None:
        if args.model is None and _only_ours(args):
            args.model = DEFAULT_MODEL
            print(f"No model given (-m): running the lexical baseline {DEFAULT_MODEL}.")
        if args.model is not None and Path(args.model).is_dir():
            raise SystemExit(f"mteb runs models by name. For a folder: {_run_of_folder(args)}")
        run(args)

    run_with_default_model.__module__ = __name__
    module.run = run_with_default_model  # type: ignore[attr-defined]


def _run_of_folder(args: argparse.Namespace) -> str:
    """The command of ours that does what ``mteb run`` was asked to do with a folder."""
    words = ["mteb-ext", "run", "-m", args.model]
    words += ["-t", *args.tasks] if args.tasks else []
    words += ["-b", *args.benchmarks] if args.benchmarks else []
    return shlex.join(words)


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
    "mteb.cache.result_cache": _guard_submission,
    "mteb.benchmarks.benchmarks": _fill_benchmarks,
    "mteb.benchmarks._leaderboard_menu": _add_to_menu,
    "mteb.cli.build_cli": _complete_commands,
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


def _private(holder: Any, name: str, kind: Any) -> Any:  # noqa: ANN401 - what mteb keeps there
    value = getattr(holder, name, None)
    if not isinstance(value, kind):
        raise CompatibilityError(
            f"{holder.__name__}.{name} of this mteb is not what mteb_ext relies on"
        )
    return value


@cache
def _warn_once(clash: str) -> None:
    logger.warning("mteb_ext: %s.", clash)
