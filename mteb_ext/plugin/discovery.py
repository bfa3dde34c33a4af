"""Discovery of tasks, models and benchmarks: our own tasks, installed plugins, folders of files.

A plugin is a package with entry points, or a Python file in a folder that ``MTEB_EXT_PATH`` names.
An item that fails to load is skipped, and one line in the log names it. Each kind is searched once
a process.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import importlib.util
import inspect
import logging
import os
import pkgutil
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from importlib.metadata import entry_points
from pathlib import Path
from textwrap import shorten
from types import ModuleType
from typing import Any, Generic, TypeAlias, TypeVar, cast

from mteb.abstasks import AbsTask
from mteb.abstasks.task_metadata import TaskMetadata
from mteb.benchmarks.benchmark import Benchmark
from mteb.models.model_meta import ModelMeta

from mteb_ext import tasks as own_package
from mteb_ext.bases import PaperTask, sample_twin
from mteb_ext.data.sources import SampleFiles
from mteb_ext.errors import DataError
from mteb_ext.names import file_name_fault

logger = logging.getLogger(__name__)

PATH_VARIABLE = "MTEB_EXT_PATH"
SLOW_SECONDS = 2.0

T = TypeVar("T")
Origin: TypeAlias = tuple[str, Callable[[], Any]]  # a name for the log, and what loads it


@dataclass(frozen=True)
class _Kind(Generic[T]):
    """What is looked for.

    Attributes:
        group: The group of entry points.
        what: What it is called in the log.
        belongs: Whether a value is of this kind, and defined in the module it was found in.
        check: Exercises an item as mteb's listings do, so that a faulty one is rejected here.
    """

    group: str
    what: str
    belongs: Callable[[object, ModuleType | None], bool]
    check: Callable[[T], None]


def _is_task(value: object, module: ModuleType | None) -> bool:
    if not isinstance(value, type):
        return False
    # Asked before issubclass, which takes a millisecond with mteb's thousand task classes.
    is_defined_there = module is None or (
        value.__module__ == module.__name__ and "metadata" in vars(value)
    )
    return is_defined_there and issubclass(value, AbsTask)


def _check_name(name: str) -> None:
    """Refuse a name that would lead a file out of its folder, or break a line.

    Raises:
        ValueError: If the name is one.
    """
    if fault := file_name_fault(name):
        raise ValueError(fault)


def _check_task(task: type[AbsTask]) -> None:
    if not isinstance(task.metadata, TaskMetadata):
        raise TypeError(f"its metadata is {task.metadata!r}, not a TaskMetadata")
    _check_name(task.metadata.name)
    task().filter_languages(None, None).filter_eval_splits(None)


def _check_model(meta: ModelMeta) -> None:
    for part in (meta.name or "").split("/"):
        _check_name(part)


def _check_benchmark(benchmark: Benchmark) -> None:
    _check_name(benchmark.name)
    for task in benchmark.tasks:
        if not isinstance(task, AbsTask):
            raise TypeError(f"{task!r} among its tasks is no task")


_TASKS = _Kind[type[AbsTask]]("mteb_ext.tasks", "task class", _is_task, _check_task)
_MODELS = _Kind[ModelMeta](
    "mteb_ext.models", "ModelMeta", lambda value, _: isinstance(value, ModelMeta), _check_model
)
_BENCHMARKS = _Kind[Benchmark](
    "mteb_ext.benchmarks",
    "Benchmark",
    lambda value, _: isinstance(value, Benchmark),
    _check_benchmark,
)


@cache
def own_tasks() -> tuple[type[AbsTask], ...]:
    """The tasks that this package ships, by module name."""
    modules = pkgutil.iter_modules(own_package.__path__, f"{own_package.__name__}.")
    names = sorted(m.name for m in modules if not m.name.rpartition(".")[2].startswith("_"))
    return _found(_TASKS, [(name, partial(importlib.import_module, name)) for name in names])


@cache
def plugin_tasks() -> tuple[type[AbsTask], ...]:
    """The task classes of plugins: any class of mteb's, with its metadata."""
    return _found(_TASKS, _origins(_TASKS.group))


@cache
def plugin_models() -> tuple[ModelMeta, ...]:
    """The models of plugins."""
    return _found(_MODELS, _origins(_MODELS.group))


@cache
def plugin_benchmarks() -> tuple[Benchmark, ...]:
    """The benchmarks of plugins. All tasks are registered by the time that they are loaded."""
    return _found(_BENCHMARKS, _origins(_BENCHMARKS.group))


def added_tasks() -> set[str]:
    """The names of tasks that a plain mteb lacks, without samples.

    If mteb has a task of the same name, mteb's wins and ours is not registered.
    """
    import mteb

    ours = {task.metadata.name: task for task in (*own_tasks(), *plugin_tasks())}
    return {name for name, task in ours.items() if type(mteb.get_task(name)) is task}


def added_models() -> set[str]:
    """The names of models that a plain mteb lacks."""
    from mteb.models.model_implementations import MODEL_REGISTRY

    from mteb_ext.baselines import MODEL_METAS

    ours = {str(meta.name): meta for meta in (*MODEL_METAS, *plugin_models())}
    return {name for name, meta in ours.items() if MODEL_REGISTRY.get(name) is meta}


def samples_of(tasks: Iterable[type[AbsTask]]) -> Iterator[type[PaperTask]]:
    """The ``NAME.sample`` twins of our own tasks, and of plugins with samples beside their module.

    A plugin keeps the sample of the file NAME at ``samples/NAME`` in the module's folder.
    """
    for task in tasks:
        if issubclass(task, PaperTask):
            if task in own_tasks():
                yield sample_twin(task)
            elif (folder := Path(inspect.getfile(task)).parent / "samples").is_dir():
                yield sample_twin(task, _SamplesBeside(folder))


@dataclass(frozen=True)
class _SamplesBeside(SampleFiles):
    """The samples of a plugin."""

    folder: Path

    def file(self, repository: str, name: str) -> Path:  # type: ignore[override]
        """The sample of a file of a public repository."""
        del repository
        return self.folder / name

    def own(self, name: str, how_to_get: str) -> Path:  # type: ignore[override]
        """The sample of a file that the user provides."""
        path = self.folder / name
        if not path.exists():
            raise DataError(f"{path}, the sample of {name}, does not exist. {how_to_get}")
        return path


def _origins(group: str) -> Iterator[Origin]:
    for point in entry_points(group=group):
        yield f"entry point {point.name!r} ({point.value})", point.load
    for name, module in _path_modules().items():
        yield name, partial(_return, module)


def _return(value: T) -> T:
    return value


def _found(kind: _Kind[T], origins: Iterable[Origin]) -> tuple[T, ...]:
    """The usable items of all origins, each once."""
    found: dict[int, T] = {}
    for origin, load in origins:
        for name, value in (_attempt(origin, partial(_members, kind, load)) or {}).items():
            if _attempt(f"{name} of {origin}", partial(_checked, kind, value)) is not None:
                found[id(value)] = value
    return tuple(found.values())


def _members(kind: _Kind[T], load: Callable[[], Any]) -> dict[str, T]:
    """The items of a kind by name: those in a module, or the loaded object itself."""
    loaded = load()
    if kind.belongs(loaded, None):
        return {kind.what: cast(T, loaded)}
    if not isinstance(loaded, ModuleType):
        raise TypeError(f"{type(loaded).__name__} is neither a {kind.what} nor a module")
    return {name: value for name, value in vars(loaded).items() if kind.belongs(value, loaded)}


def _checked(kind: _Kind[T], value: T) -> T:
    kind.check(value)
    return value


def _attempt(name: str, step: Callable[[], T]) -> T | None:
    """The result of a step; None, and a line in the log, if the step raises."""
    start = time.perf_counter()
    try:
        with contextlib.redirect_stdout(
            sys.stderr
        ):  # plugins must not print into a command's output
            return step()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # pytest.skip and Rust panics are not Exceptions
        # Users of a plugin have no use for our traceback.
        logger.error(  # noqa: TRY400
            "mteb_ext skips %s: %s. Mend or remove it; the others are loaded.",
            name,
            shorten("".join(traceback.format_exception_only(error)), 400),
        )
        return None
    finally:
        seconds = time.perf_counter() - start
        if seconds > SLOW_SECONDS:
            logger.warning(
                "mteb_ext: %s took %.1f s to load, and every import of mteb waits for it.",
                name,
                seconds,
            )


@cache
def _path_modules() -> dict[str, ModuleType]:
    """The modules in the folders of ``MTEB_EXT_PATH``, by the path of their file."""
    modules = {}
    for folder in filter(None, os.environ.get(PATH_VARIABLE, "").split(os.pathsep)):
        listed = _attempt(f"the folder {folder} in {PATH_VARIABLE}", partial(_files, folder))
        for file in listed or ():
            if str(file) not in modules and (module := _attempt(str(file), partial(_import, file))):
                modules[str(file)] = module
    return modules


def _files(folder: str) -> list[Path]:
    path = Path(folder).expanduser().resolve()
    return sorted(
        file for file in path.iterdir() if file.suffix == ".py" and not file.name.startswith("_")
    )


def _import(file: Path) -> ModuleType:
    # The folder is part of the name, so that two folders may hold files of one name.
    digest = hashlib.sha256(str(file).encode()).hexdigest()[:8]
    name = f"mteb_ext_path_{digest}_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
