"""What ``mteb-ext errors`` shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mteb_ext.tables.table import Table
from mteb_ext.tables.text import interval, number

if TYPE_CHECKING:
    import pandas as pd

    from mteb_ext.analysis.wrong import Wrong

DISTANCE = (
    "distance: by how many standard deviations the score is above the gold, each in its own units "
    "(of ranks, where the main score is Spearman's). The correlation is 1 - the mean square / 2."
)
RANK = "rank: of the best-scored relevant candidate; equal scores of others stand before it."
PARTS = (
    "characters: length of the pair or query. overlap: the share of the shorter text's 3-grams of "
    "characters that the other has (of a query, its nearest relevant candidate)."
)
SHIFT = "shift: the mean distance of the part's pairs; above 0 its scores are too high."


def wrong_tables(wrong: Wrong) -> dict[str, list[Table]]:
    """Each run's tables: pairs or queries, and parts of the data."""
    found = {}
    for run in [*wrong.pairs["run"].unique(), *wrong.queries["run"].unique()]:
        pairs, queries, slices = (
            frame[frame["run"] == run] for frame in (wrong.pairs, wrong.queries, wrong.slices)
        )
        found[str(run)] = [
            *([_pairs_table(run, pairs)] if len(pairs) else []),
            *([_queries_table(run, queries)] if len(queries) else []),
            *([_slices_table(run, slices)] if len(slices) else []),
        ]
    return found


def _pairs_table(run: str, pairs: pd.DataFrame) -> Table:
    rows = [
        (
            *(row.subset, row.id, f"{row.gold:g}", number(row.score), f"{row.distance:+z.2f}"),
            row.text,
        )
        for row in pairs.itertuples()
    ]
    columns = ("subset", "row", "gold", "score", "distance", "text")
    return _table(f"{run}: the pairs farthest from gold", columns, rows, [DISTANCE])


def _queries_table(run: str, queries: pd.DataFrame) -> Table:
    metric = queries["metric"].iloc[0]
    rows = [
        (
            *(row.subset, row.id, number(row.value)),
            *(row.first, number(row.first_score)),
            *(row.right, number(row.right_score), str(row.right_rank or "")),
            *(row.text, row.first_text, row.right_text),
        )
        for row in queries.itertuples()
    ]
    columns = (
        *("subset", "query", metric, "first", "its score", "relevant", "its score", "rank"),
        *("query's text", "first's text", "relevant's text"),
    )
    return _table(f"{run}: the lowest queries", columns, rows, [RANK])


def _slices_table(run: str, slices: pd.DataFrame) -> Table:
    metric = slices["metric"].iloc[0]
    rows = [
        (
            *(row.subset, row.by, row.part, f"{row.n:,}", number(row.value)),
            *(interval(row.low, row.high), "" if row.shift != row.shift else f"{row.shift:+z.2f}"),
        )
        for row in slices.itertuples()
    ]
    columns = ("subset", "by", "part", "n", metric, "95% interval", "shift")
    notes = [PARTS, SHIFT] if slices["shift"].notna().any() else [PARTS]
    return _table(f"{run}: {metric} on parts of the data", columns, rows, notes)


def _table(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], notes: Sequence[str]
) -> Table:
    """A table without its empty columns, and without the only subset of a task."""
    kept = [
        at
        for at, name in enumerate(columns)
        if any(row[at] for row in rows) and (name != "subset" or len({row[at] for row in rows}) > 1)
    ]
    return Table(
        title, [columns[at] for at in kept], [[row[at] for at in kept] for row in rows], notes
    )
