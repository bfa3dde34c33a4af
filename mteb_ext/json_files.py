"""JSON files that anyone may have written: read whole, or refused in plain words."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mteb_ext.errors import DataError


def read_json(
    path: Path, parse_int: Callable[[str], int | float] = int, largest: float = math.inf
) -> Any:  # noqa: ANN401
    """Read a JSON file of any content.

    Args:
        path: The file.
        parse_int: What becomes of whole numbers.
        largest: How many bytes it may have.

    Raises:
        DataError: If it cannot be read, is larger, or is not JSON. The message says what is wrong
            with it, and leaves it to the caller to name the file.
    """
    try:
        if path.stat().st_size > largest:
            raise DataError(f"it is larger than {int(largest) >> 20} MB, and no such file is.")
        text = path.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"it is no UTF-8 text from byte {error.start} on.") from error
    except OSError as error:
        raise DataError(f"it cannot be read ({error.strerror}).") from error
    try:
        return parse_json(text, parse_int)
    except ValueError as error:
        raise DataError(f"it is damaged: {error}.") from error


def parse_json(text: str, parse_int: Callable[[str], int | float] = int) -> Any:  # noqa: ANN401
    """The value that a JSON text holds.

    Raises:
        ValueError: If it is not JSON, is nested too deeply, or a name occurs twice in an object, of
            which one value would be lost. The message says which.
    """
    if not text.strip():
        raise ValueError("it is empty")
    try:
        return json.loads(text, parse_int=parse_int, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        raise ValueError(
            f"it is no JSON from line {error.lineno}, column {error.colno} on"
        ) from error
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def _object(members: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(members)
    if len(found) != len(members):
        raise ValueError("a name occurs twice in an object")
    return found
