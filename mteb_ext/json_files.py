"""JSON files from anywhere: read whole, or refused with a reason."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from textwrap import shorten
from typing import Any

from mteb_ext.errors import DataError
from mteb_ext.files import read_regular


def read_json(
    path: Path, parse_int: Callable[[str], int | float] = int, largest: float = math.inf
) -> Any:  # noqa: ANN401
    """Read a JSON file.

    Args:
        path: The file.
        parse_int: Converts integers.
        largest: The size limit in bytes.

    Raises:
        DataError: If the file cannot be read, is too large, or is not JSON. The caller adds its
            name to the message.
    """
    return decode_json(read_content(path, largest), parse_int)


def read_content(path: Path, largest: float = math.inf) -> bytes:
    """Read a regular file.

    Args:
        path: The file.
        largest: The size limit in bytes.

    Raises:
        DataError: If the file cannot be read or is too large. The caller adds its name.
    """
    try:
        content = read_regular(path, largest)
    except OSError as error:
        raise DataError(f"the file cannot be read ({error.strerror}).") from error
    if content is None:
        raise DataError(f"the file is larger than {int(largest) >> 20} MB.")
    return content


def decode_json(content: bytes, parse_int: Callable[[str], int | float] = int) -> Any:  # noqa: ANN401
    """The value of a JSON file's content.

    Raises:
        DataError: If the content is not JSON. The caller adds the file's name to the message.
    """
    try:
        return parse_json(content.decode("utf-8"), parse_int)
    except UnicodeDecodeError as error:
        raise DataError(f"the file is not UTF-8 text from byte {error.start} on.") from error
    except ValueError as error:
        raise DataError(f"the file is damaged: {error}.") from error


def parse_json(text: str, parse_int: Callable[[str], int | float] = int) -> Any:  # noqa: ANN401
    """Parse a JSON text.

    Raises:
        ValueError: If the text is not JSON, is nested too deeply, or repeats a name in an object.
            (One of the two values would be lost.)
    """
    if not text.strip():
        raise ValueError("the text is empty")
    try:
        return json.loads(text, parse_int=parse_int, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON from line {error.lineno}, column {error.colno} on") from error
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _object(members: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(members)
    if len(found) != len(members):
        raise ValueError("a name occurs twice in an object")
    return found


def storable(text: str) -> str:
    """Text that UTF-8 can hold: names of files and escapes in JSON need not be."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def brief(value: object) -> str:
    """A value from a JSON file as a few characters; whatever is nested is not looked into."""
    return type(value).__name__ if isinstance(value, (list, dict)) else shorten(repr(value), 40)
