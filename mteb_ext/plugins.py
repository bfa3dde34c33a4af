"""Discovery of task classes: the package's own, installed plugins, and folders of task files."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import logging
import os
import pkgutil
import sys
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from mteb.abstasks import AbsTask

from mteb_ext import tasks as own_package

logger = logging.getLogger(__name__)

ENTRY_POINT_GROUP = "mteb_ext.tasks"
PATH_VARIABLE = "MTEB_EXT_PATH"


def own_tasks() -> list[type[AbsTask]]:
    """The tasks that this package ships, by module name.

    A module that fails to import is skipped with a logged error, and the others are returned.
    """
    modules = pkgutil.iter_modules(own_package.__path__, f"{own_package.__name__}.")
    names = sorted(m.name for m in modules if not m.name.rpartition(".")[2].startswith("_"))
    return [task for name in names for task in _load(name, partial(importlib.import_module, name))]


def plugin_tasks() -> list[type[AbsTask]]:
    """The tasks of installed plugins and of the folders that ``MTEB_EXT_PATH`` names.

    An installed plugin declares an entry point in the group ``mteb_ext.tasks`` that names a task
    class or a module. ``MTEB_EXT_PATH`` is a list of folders, separated as in ``PATH``; every
    ``*.py`` file in them is imported. What fails is skipped with a logged error that names it.
    """
    found: list[type[AbsTask]] = []
    for entry_point in entry_points(group=ENTRY_POINT_GROUP):
        found += _load(f"entry point {entry_point.name!r} ({entry_point.value})", entry_point.load)
    for file in _files_in_path():
        found += _load(str(file), partial(_import_file, file))
    return found


def _load(name: str, load: Callable[[], Any]) -> list[type[AbsTask]]:
    try:
        loaded = load()
    except (Exception, SystemExit) as error:
        # The message is for the user of a plugin, who has no use for a traceback of ours.
        logger.error(  # noqa: TRY400
            "mteb_ext skips the tasks of %s (%s: %s). Mend or remove it; the others are loaded.",
            name,
            type(error).__name__,
            error,
        )
        return []
    if isinstance(loaded, ModuleType):
        return list(_task_classes(loaded))
    if isinstance(loaded, type) and issubclass(loaded, AbsTask):
        return [loaded]
    logger.error("mteb_ext skips %s: it is neither a task class nor a module.", name)
    return []


def _task_classes(module: ModuleType) -> Iterator[type[AbsTask]]:
    for value in vars(module).values():
        defined_here = isinstance(value, type) and value.__module__ == module.__name__
        if defined_here and issubclass(value, AbsTask) and "metadata" in vars(value):
            yield value


def _files_in_path() -> Iterator[Path]:
    for folder in filter(None, os.environ.get(PATH_VARIABLE, "").split(os.pathsep)):
        path = Path(folder).expanduser()
        if not path.is_dir():
            logger.error("mteb_ext: %s names %s, which is not a folder.", PATH_VARIABLE, folder)
            continue
        yield from sorted(p for p in path.glob("*.py") if not p.name.startswith("_"))


def _import_file(file: Path) -> ModuleType:
    # The folder is part of the name, so that two folders may hold files of one name.
    digest = hashlib.sha256(str(file.resolve()).encode()).hexdigest()[:8]
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
