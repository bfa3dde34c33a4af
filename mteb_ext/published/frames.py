"""Rows to data frames: pandas and polars are imported only when asked for."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

from mteb_ext.errors import MtebExtError

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

Backend: TypeAlias = Literal["pandas", "polars"]
Schema: TypeAlias = Mapping[str, type]

_PANDAS = {str: "str", int: "int64", float: "float64", bool: "bool"}


class BackendError(MtebExtError):
    """The data frame library asked for is not supported or not installed."""


@overload
def to_frame(
    rows: Iterable[Mapping[str, Any]], schema: Schema, backend: Literal["pandas"]
) -> pd.DataFrame: ...


@overload
def to_frame(
    rows: Iterable[Mapping[str, Any]], schema: Schema, backend: Literal["polars"]
) -> pl.DataFrame: ...


@overload
def to_frame(
    rows: Iterable[Mapping[str, Any]], schema: Schema, backend: Backend
) -> pd.DataFrame | pl.DataFrame: ...


def to_frame(
    rows: Iterable[Mapping[str, Any]], schema: Schema, backend: Backend
) -> pd.DataFrame | pl.DataFrame:
    """Build a frame with exactly the schema's columns and types, also when there are no rows.

    Args:
        rows: One mapping a row, with a value for every column.
        schema: Python type by column name, in column order.
        backend: The data frame library.

    Raises:
        BackendError: The backend is neither pandas nor polars, or is not installed.
    """
    rows = list(rows)
    columns = {name: [row[name] for row in rows] for name in schema}
    library = _library(backend)
    frame: pd.DataFrame | pl.DataFrame
    if backend == "polars":
        frame = library.DataFrame(columns, schema=dict(schema))
    else:
        series = library.Series
        frame = library.DataFrame(
            {name: series(values, dtype=_PANDAS[schema[name]]) for name, values in columns.items()}
        )
    return frame


def _library(backend: str) -> ModuleType:
    if backend not in ("pandas", "polars"):
        raise BackendError(f"backend {backend!r} is not supported; choose 'pandas' or 'polars'")
    try:
        return importlib.import_module(backend)
    except ModuleNotFoundError as error:
        if error.name != backend:  # installed, but itself broken: its own message says more
            raise
        raise BackendError(
            f"backend {backend!r} is not installed: run `pip install {backend}`, "
            "or ask for the other of pandas and polars"
        ) from error
