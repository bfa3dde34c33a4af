"""Outputs that are given in Python: a mapping, an array, a frame."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from mteb_ext.errors import DataError
from mteb_ext.outputs.columns import Columns, HeaderError
from mteb_ext.outputs.rows import Outputs, Row

if TYPE_CHECKING:
    import pandas as pd

GIVEN = "the outputs"


def outputs_of(given: object) -> Outputs:
    """Outputs in the one form that all are matched in.

    Args:
        given: Scores by query and document, ``{"q1": {"d1": 0.5}}``; one-dimensional scores in the
            order of the task's rows, or such by subset; or a frame with the columns of a table.

    Raises:
        DataError: If it is none of these, or a score is no finite number.
    """
    if hasattr(given, "columns"):
        return _of_frame(given)
    if not isinstance(given, Mapping):
        return Outputs(GIVEN, "rows", list(_in_order(given)), "row")
    if given and all(isinstance(part, Mapping) for part in given.values()):
        items = (
            ((str(q), str(d)), score) for q, part in given.items() for d, score in part.items()
        )
        rows = [Row(n, _number(score, n), item) for n, (item, score) in enumerate(items, start=1)]
        return Outputs(GIVEN, "candidates", rows, "row")
    rows = [row for subset, part in given.items() for row in _in_order(part, str(subset))]
    return Outputs(GIVEN, "rows", rows, "row")


def _of_frame(frame: pd.DataFrame) -> Outputs:
    try:
        columns = Columns.of([str(name) for name in frame.columns])
    except HeaderError as error:
        raise DataError(f"{GIVEN}: {error}") from error
    rows = []
    for place, cells in enumerate(frame.itertuples(index=False, name=None), start=1):
        score = _number(cells[columns.places["score"]], place)
        rows.append(columns.row([str(cell) for cell in cells], place, score))
    return Outputs(GIVEN, columns.kind, rows, "row", remarks=columns.remarks)


def _in_order(values: object, subset: str = "") -> Iterator[Row]:
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise DataError(
            f"{GIVEN} are of the type {type(values).__name__}. Give scores by query and document, "
            "one score a row, scores by subset, a frame, or the path of a file."
        )
    for place, value in enumerate(values, start=1):
        yield Row(place, _number(value, place), subset=subset)


def _number(value: Any, place: int) -> float:  # noqa: ANN401 - whatever was given
    """A score: a number of Python, numpy or torch.

    Raises:
        DataError: If it is none, or is not finite.
    """
    try:
        number = float("nan") if isinstance(value, (str, bytes, bool)) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = float("nan")
    if not np.isfinite(number):
        raise DataError(f"{GIVEN}, row {place}: {value!r:.40} is no finite number.")
    return number
