"""Our scores beside the published ones of the same protocol variant."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, overload

from mteb_ext.errors import ProtocolError
from mteb_ext.published.frames import Backend, Schema, to_frame
from mteb_ext.published.tables import COLUMNS, published_rows
from mteb_ext.published.variants import Variant, find_variant

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

COMPARISON_COLUMNS: Schema = {**COLUMNS, "ours": bool, "same_variant": bool}
"""The columns of a comparison: those of a published table and two more."""

Scores = Mapping[tuple[str, str], float]


@overload
def compare_published(
    task: str,
    scores: Scores,
    *,
    variant: str,
    other_variants: bool = False,
    split: str = "test",
    system: str = "ours",
    backend: Literal["pandas"] = "pandas",
) -> pd.DataFrame: ...


@overload
def compare_published(
    task: str,
    scores: Scores,
    *,
    variant: str,
    other_variants: bool = False,
    split: str = "test",
    system: str = "ours",
    backend: Literal["polars"],
) -> pl.DataFrame: ...


@overload
def compare_published(
    task: str,
    scores: Scores,
    *,
    variant: str,
    other_variants: bool = False,
    split: str = "test",
    system: str = "ours",
    backend: Backend,
) -> pd.DataFrame | pl.DataFrame: ...


def compare_published(
    task: str,
    scores: Scores,
    *,
    variant: str,
    other_variants: bool = False,
    split: str = "test",
    system: str = "ours",
    backend: Backend = "pandas",
) -> pd.DataFrame | pl.DataFrame:
    """Put our scores of one task and one variant beside the published ones.

    Scores of several variants, such as a headline and its tracks, take one call each.

    Args:
        task: The task's name.
        scores: Our value, on the 0-1 scale, by (subset, metric); the empty subset is the
            headline. Only published numbers of these subsets and metrics are returned.
        variant: The protocol variant that our scores follow.
        other_variants: Return the numbers of the task's other variants as well. They are marked
            twice: `same_variant` is false, and the variant stands in brackets behind the
            system's name, so that a plot or a table of names and values shows it too.
        split: The split that our scores were computed on.
        system: The name of our row.
        backend: The data frame library, pandas or polars.

    Returns:
        A frame with the columns `COMPARISON_COLUMNS`: for each (subset, metric), in the order
        of `scores`, the rows of our variant from the best value down, then the others'.

    Raises:
        BackendError: The backend is not supported or not installed.
        ProtocolError: The task does not have the variant, the variant does not have a subset, or
            a score is not a number between -1 and 1.
    """
    rule = find_variant(variant, task)
    rows: list[dict[str, Any]] = []
    for (subset, metric), value in scores.items():
        _check_score(rule, task, subset, metric, value)
        key = {"task": task, "subset": subset, "split": split, "metric": metric}
        group = [_our_row(key, system, variant, value)]
        group += [
            _mark(row, same_variant=row["variant"] == variant)
            for row in published_rows()
            if all(row[name] == wanted for name, wanted in key.items())
            and (other_variants or row["variant"] == variant)
        ]
        rows += sorted(group, key=_reading_order)
    return to_frame(rows, COMPARISON_COLUMNS, backend)


def _check_score(variant: Variant, task: str, subset: str, metric: str, value: float) -> None:
    where = f"task {task}, subset {subset!r}, {metric}"
    if subset not in variant.subsets[task]:
        raise ProtocolError(
            f"{where}: variant {variant.id!r} is defined for the subsets "
            f"{', '.join(map(repr, variant.subsets[task]))}"
        )
    if not (math.isfinite(value) and -1 <= value <= 1):
        raise ProtocolError(f"{where}: {value} is not a score on the 0-1 scale")


def _our_row(key: Mapping[str, str], system: str, variant: str, value: float) -> dict[str, Any]:
    blank = {name: kind() for name, kind in COLUMNS.items()}
    ours = {"system": system, "run": 1, "value": float(value), "variant": variant}
    return {**blank, **key, **ours, "ours": True, "same_variant": True}


def _mark(row: Mapping[str, Any], *, same_variant: bool) -> dict[str, Any]:
    name = row["system"] if same_variant else f"{row['system']} [{row['variant']}]"
    return {**row, "system": name, "ours": False, "same_variant": same_variant}


def _reading_order(row: Mapping[str, Any]) -> tuple[bool, str, float]:
    # Our variant stands first whatever its name; a variant's rows stay together.
    return not row["same_variant"], row["variant"], -row["value"]
