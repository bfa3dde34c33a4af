"""mteb's result files: ``TASK.json``."""

from __future__ import annotations

from pathlib import Path
from typing import TypeGuard

from mteb_ext.errors import DataError
from mteb_ext.formats.layout import LARGEST, belongs_to_results
from mteb_ext.json_files import read_json


def is_result(content: object) -> TypeGuard[dict[str, object]]:
    """Whether parsed JSON looks like a result of mteb 1.11 or newer."""
    return isinstance(content, dict) and {"task_name", "scores"} <= set(content)


def is_of_results(path: Path) -> bool:
    """Whether a file that exists is one of a results folder, by its name, place or content."""
    if not path.is_file():
        return False
    if belongs_to_results(path):
        return True
    try:
        return path.suffix == ".json" and is_result(read_json(path, largest=LARGEST))
    except DataError:
        return False
