"""Running numbers as identifiers: from 0 or from 1, which the numbers themselves must show."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from mteb_ext.errors import DataError

_MOST_DIGITS = 9


def number_of(name: str) -> int | None:
    """The number that an identifier is; None where it is none."""
    return int(name) if re.fullmatch(f"[0-9]{{1,{_MOST_DIGITS}}}", name) else None


def first_number(numbers: Mapping[int, Collection[int]]) -> int | None:
    """Whether lists are numbered from 0 or from 1; None where they are numbered in neither way.

    Args:
        numbers: The numbers that occur, by the length of the lists that they count. A list that is
            complete has 0 or its length among them, and never both.

    Raises:
        DataError: If the lists are so incomplete that both would fit.
    """
    fitting = [
        first
        for first in (0, 1)
        if all(first <= n < length + first for length, found in numbers.items() for n in found)
    ]
    if len(fitting) == 2 and any(numbers.values()):
        raise DataError(
            "its numbers could begin at 0 or at 1: no list has its first or its last item. Use the "
            "dataset's own identifiers."
        )
    return fitting[0] if fitting else None
