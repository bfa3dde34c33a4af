"""What outputs say in their own terms, before they are laid beside a task."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal, TypeAlias

from mteb_ext.data.readers import finite_number
from mteb_ext.errors import DataError

Kind: TypeAlias = Literal["rows", "ids", "candidates", "segments"]
"""What a score is of: the next row of the task; the row or candidate of an identifier; the
candidate of a query; a segment of a system's translation."""


@dataclass(frozen=True, slots=True)
class Row:
    """One score.

    Attributes:
        place: Its line in the file, or its number where there are no lines; counted from 1.
        score: The score, finite.
        item: What it is of: nothing, the next row; an identifier; query and document; test set,
            system and segment number.
        subset: The subset; empty where the file does not say.
        texts: The two texts of a pair, where the file repeats them.
    """

    place: int
    score: float
    item: tuple[str, ...] = ()
    subset: str = ""
    texts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Outputs:
    """The scores of one file, or of one object in Python.

    Attributes:
        origin: The file's path, or what was given instead.
        kind: What its scores are of.
        rows: The scores, in the order of the file.
        unit: What `Row.place` counts.
        key: Under which name a prediction file holds the scores of pairs.
        remarks: What a reader noticed that the user should know.
        dataset_revision: The data that the scores are on; None where the file does not say.
    """

    origin: str
    kind: Kind
    rows: Sequence[Row]
    unit: Literal["line", "row"] = "line"
    key: str = "similarity_scores"
    remarks: tuple[str, ...] = ()
    dataset_revision: str | None = None


@dataclass(frozen=True)
class Text:
    """The content of a file.

    Attributes:
        origin: The file's path.
        content: Its text, without a byte order mark.
    """

    origin: str
    content: str

    @cached_property
    def lines(self) -> list[str]:
        """The lines; those at the end that are empty do not count."""
        lines = self.content.rstrip("\r\n").split("\n")
        return [line.removesuffix("\r") for line in lines]

    @property
    def first(self) -> str:
        """The first line."""
        return self.lines[0]

    def numbered(self, start: int = 1) -> Iterator[tuple[int, str]]:
        """The lines from a number on, counted from 1.

        Raises:
            DataError: If one of them is empty.
        """
        for number, line in enumerate(self.lines[start - 1 :], start=start):
            if not line.strip():
                raise self.fault(number, "the line is empty. Each line holds a score.")
            yield number, line

    def number(self, text: str, line: int) -> float:
        """The score in a line.

        Raises:
            DataError: If it is no finite number.
        """
        return finite_number(text.strip(), Path(self.origin), line)

    def fault(self, line: int, what: str) -> DataError:
        """The error about a line."""
        return DataError(f"{self.origin}, line {line}: {what}")


def is_number(text: str) -> bool:
    """Whether a column of a first line is meant as a number: ``nan`` and ``inf`` are."""
    try:
        float(text)
    except ValueError:
        return False
    return True
