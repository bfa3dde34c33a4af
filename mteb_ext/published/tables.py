"""The tables of published results: CSV files beside this module, one a paper or dataset."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal, overload

from mteb_ext.errors import DataError
from mteb_ext.published.frames import Backend, Schema, to_frame
from mteb_ext.published.variants import check_task, find_variant

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

COLUMNS: Schema = {
    "task": str,
    "subset": str,
    "split": str,
    "system": str,
    "run": int,
    "system_paper": str,
    "metric": str,
    "value": float,
    "printed": str,
    "variant": str,
    "derived": bool,
    "source": str,
    "table": str,
    "note": str,
}
"""The columns of a published table and their types; `mteb_ext.published` documents them."""


@overload
def load_published(
    task: str | None = None,
    *,
    variant: str | None = None,
    backend: Literal["pandas"] = "pandas",
) -> pd.DataFrame: ...


@overload
def load_published(
    task: str | None = None, *, variant: str | None = None, backend: Literal["polars"]
) -> pl.DataFrame: ...


@overload
def load_published(
    task: str | None = None, *, variant: str | None = None, backend: Backend
) -> pd.DataFrame | pl.DataFrame: ...


def load_published(
    task: str | None = None, *, variant: str | None = None, backend: Backend = "pandas"
) -> pd.DataFrame | pl.DataFrame:
    """Load published results, one row a number, in the order of the papers' tables.

    Args:
        task: Keep this task only.
        variant: Keep this protocol variant only.
        backend: The data frame library, pandas or polars.

    Returns:
        A frame with the columns `COLUMNS`; it has no rows if the task or the variant is known
        but no number of it is.

    Raises:
        BackendError: The backend is not supported or not installed.
        DataError: A table is damaged.
        ProtocolError: The task or the variant is unknown, or the task does not have the variant.
    """
    if task is not None:
        check_task(task)
    if variant is not None:
        find_variant(variant, task)
    rows = (
        row
        for row in published_rows()
        if task in (None, row["task"]) and variant in (None, row["variant"])
    )
    return to_frame(rows, COLUMNS, backend)


@cache
def published_rows() -> tuple[Mapping[str, Any], ...]:
    """Read every table once, each row as a mapping from column to typed value.

    Raises:
        DataError: A table has other columns, or a row whose run, value or derived cannot be read.
    """
    tables = files(__package__).joinpath("tables")
    names = sorted(item.name for item in tables.iterdir() if item.name.endswith(".csv"))
    return tuple(
        row for name in names for row in _read(name, tables.joinpath(name).read_text("utf-8"))
    )


def _read(name: str, text: str) -> list[Mapping[str, Any]]:
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    if reader.fieldnames != list(COLUMNS):
        raise DataError(f"published table {name}: the columns must be {', '.join(COLUMNS)}")
    try:
        return [
            {column: _CAST[kind](row[column]) for column, kind in COLUMNS.items()} for row in reader
        ]
    except (KeyError, TypeError, ValueError, csv.Error) as error:
        raise DataError(f"published table {name}, line {reader.line_num}: {error!r}") from error


# bool("false") is True, hence the table of its own.
_CAST: Mapping[type, Any] = {
    str: str,
    int: int,
    float: float,
    bool: {"true": True, "false": False}.__getitem__,
}
