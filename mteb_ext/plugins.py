"""Discovery of task classes: the package's own, installed plugins, and folders of task files.

What cannot be loaded is skipped, whatever it raises, with one line in the log that names it.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import logging
import os
import pkgutil
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from importlib.metadata import entry_points
from pathlib import Path
from textwrap import shorten
from types import ModuleType
from typing import Any, TypeVar

from mteb.abstasks import AbsTask
from mteb.abstasks.task_metadata import TaskMetadata

from mteb_ext import tasks as own_package

logger = logging.getLogger(__name__)

ENTRY_POINT_GROUP = "mteb_ext.tasks"
PATH_VARIABLE = "MTEB_EXT_PATH"
SLOW_SECONDS = 2.0

T = TypeVar("T")


@cache
def own_tasks() -> tuple[type[AbsTask], ...]:
    """The tasks that this package ships, by module name."""
    modules = pkgutil.iter_modules(own_package.__path__, f"{own_package.__name__}.")
    names = sorted(m.name for m in modules if not m.name.rpartition(".")[2].startswith("_"))
    return _tasks_of((name, partial(importlib.import_module, name)) for name in names)


@cache
def plugin_tasks() -> tuple[type[AbsTask], ...]:
    """The tasks of installed plugins and of the folders that ``MTEB_EXT_PATH`` names.

    An installed plugin declares an entry point in the group ``mteb_ext.tasks`` that names a task
    class or a module. ``MTEB_EXT_PATH`` is a list of folders, separated as in ``PATH``; every
    ``*.py`` file in them is imported. They are looked for once in a process.
    """
    installed = [
        (f"entry point {entry_point.name!r} ({entry_point.value})", entry_point.load)
        for entry_point in entry_points(group=ENTRY_POINT_GROUP)
    ]
    files = [(str(f), partial(_import_file, f)) for f in dict.fromkeys(_files_in_path())]
    return _tasks_of([*installed, *files])


def _tasks_of(origins: Iterable[tuple[str, Callable[[], Any]]]) -> tuple[type[AbsTask], ...]:
    """The usable tasks of what each of these loads, by a name for the log."""
    found: dict[type[AbsTask], None] = {}
    for name, load in origins:
        for task in _attempt(name, partial(_task_classes, load)) or ():
            if _attempt(f"{task.__qualname__} of {name}", partial(_check, task)):
                found[task] = None
    return tuple(found)


def _attempt(name: str, step: Callable[[], T]) -> T | None:
    """What a step returns; None, and a line in the log, where it raises."""
    start = time.perf_counter()
    try:
        return step()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # pytest.skip and the panics of other languages are no Exception
        # The line is for the user of a plugin, who has no use for a traceback of ours.
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


def _task_classes(load: Callable[[], Any]) -> list[type[AbsTask]]:
    """The task classes that a module defines, or the one class that is loaded itself."""
    loaded = load()
    if isinstance(loaded, type) and issubclass(loaded, AbsTask):
        return [loaded]
    if not isinstance(loaded, ModuleType):
        raise TypeError("it is neither a task class nor a module")
    return [
        value
        for value in vars(loaded).values()
        if isinstance(value, type)
        and value.__module__ == loaded.__name__
        and issubclass(value, AbsTask)
        and "metadata" in vars(value)
    ]


def _check(task: type[AbsTask]) -> bool:
    """Do what mteb does with every task that it lists, where one that fails would end the list."""
    if not isinstance(task.metadata, TaskMetadata):
        raise TypeError(f"its metadata is {task.metadata!r}, not a TaskMetadata")
    task().filter_languages(None, None).filter_eval_splits(None)
    return True


def _files_in_path() -> Iterator[Path]:
    for folder in filter(None, os.environ.get(PATH_VARIABLE, "").split(os.pathsep)):
        files = _attempt(f"the folder {folder} in {PATH_VARIABLE}", partial(_python_files, folder))
        yield from files or ()


def _python_files(folder: str) -> list[Path]:
    path = Path(folder).expanduser().resolve()
    return sorted(
        file for file in path.iterdir() if file.suffix == ".py" and not file.name.startswith("_")
    )


def _import_file(file: Path) -> ModuleType:
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
