"""What a file format is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mteb_ext.outputs.rows import Outputs, Text


@dataclass(frozen=True)
class Form:
    """A file format.

    Attributes:
        name: Its name, for ``--format``.
        looks: What a line looks like.
        fits: Whether a file is of this format, by its beginning.
        read: Reads a file; the second argument is the split that is asked for. It raises a
            DataError that names the line where the file does not keep to the format.
    """

    name: str
    looks: str
    fits: Callable[[Text], bool]
    read: Callable[[Text, str], Outputs]
