"""Our scores beside the published ones of the same protocol variant."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from mteb_ext.errors import ProtocolError
from mteb_ext.published.tables import COLUMNS, Row, published_rows, to_frame
from mteb_ext.published.variants import Scores, Variant, find_variant

if TYPE_CHECKING:
    import pandas as pd

BESIDE_COLUMNS: Mapping[str, type] = {**COLUMNS, "ours": bool, "same_variant": bool}
"""The columns of `beside_published`: those of a published table and two more."""

_OUR_DECIMALS = 6  # of a number in mteb's result files


def beside_published(
    task: str,
    scores: Scores,
    *,
    variant: str,
    other_variants: bool = False,
    split: str = "test",
    system: str = "ours",
) -> pd.DataFrame:
    """Put our scores of one task and one variant beside the published ones.

    Scores of several variants, such as a headline and its tracks, take one call each.

    Args:
        task: The task's name.
        scores: Our value, on the 0-1 scale, by (subset, metric); the empty subset is the
            headline. Only published numbers of these subsets and metrics are returned.
        variant: The protocol variant that our scores follow.
        other_variants: Return the numbers of the task's other variants as well.
        split: The split that our scores were computed on.
        system: The name of our row.

    Returns:
        A frame with the columns `BESIDE_COLUMNS`: for each (subset, metric), in the order of
        `scores`, the rows of our variant, then the others', each from the best value down and
        ambiguous ones after the rest. What does not simply stand beside ours is marked twice, so
        that a plot or a table of names and values shows it too: `same_variant` is false and the
        variant stands in brackets behind the system's name, or `ambiguous` is true and the name
        ends in "(ambiguous)".

    Raises:
        ProtocolError: The task does not have the variant, the variant does not have a subset, or
            a score is not a number between -1 and 1.
    """
    rule = find_variant(variant, task)
    rows: list[Row] = []
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
    return to_frame(rows, BESIDE_COLUMNS)


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
    ours = {
        "system": system,
        "run": 1,
        "value": float(value),
        "decimals": _OUR_DECIMALS,
        "variant": variant,
    }
    return {**blank, **key, **ours, "ours": True, "same_variant": True}


def _mark(row: Row, *, same_variant: bool) -> dict[str, Any]:
    marks = [] if same_variant else [f"[{row['variant']}]"]
    marks += ["(ambiguous)"] if row["ambiguous"] else []
    name = " ".join([row["system"], *marks])
    return {**row, "system": name, "ours": False, "same_variant": same_variant}


def _reading_order(row: Row) -> tuple[bool, str, bool, float]:
    # Our variant stands first whatever its name; a variant's rows stay together.
    return not row["same_variant"], row["variant"], row["ambiguous"], -row["value"]


def compare_as_printed(score: float, value: float, decimals: int) -> int:
    """Compare a score with a published value, at the precision that the value was printed with.

    Args:
        score: Ours, on the 0-1 scale.
        value: The published one, on the 0-1 scale.
        decimals: How many of its decimals the print gives: 3 for .435, 4 for an r x 100 of 71.17.

    Returns:
        1 if ours is higher, -1 if it is lower, 0 if it would be printed alike.
    """
    ours = round(score, decimals)
    return (ours > value) - (ours < value)


class Standing(NamedTuple):
    """Where a score stands among published ones.

    Attributes:
        better: How many are strictly better, each at its printed precision.
        of: How many it was compared with.
        ambiguous: How many were left out, since it is not settled that they follow our variant.
    """

    better: int
    of: int
    ambiguous: int


def standing(score: float, published: pd.DataFrame) -> Standing:
    """Count the published numbers that are better than a score.

    Args:
        score: Ours, on the 0-1 scale.
        published: Published numbers of the same task, subset, metric and variant: rows of
            `load_published` or of `beside_published` without ours.
    """
    settled = published[~published["ambiguous"]]
    pairs = zip(settled["value"], settled["decimals"], strict=True)
    better = sum(compare_as_printed(score, value, decimals) < 0 for value, decimals in pairs)
    return Standing(better, len(settled), len(published) - len(settled))
