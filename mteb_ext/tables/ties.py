"""What ``mteb-ext ties`` shows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mteb_ext.tables.table import Table
from mteb_ext.tables.text import number

if TYPE_CHECKING:
    import pandas as pd


_SHOWN = 0.00005  # the smallest width that four decimals show


def brief_ties_table(ranges: pd.DataFrame) -> Table:
    """The main scores that the order of equal scores can move."""
    moved = ranges[ranges["main"].astype(bool) & (ranges["width"] >= _SHOWN)]
    table = ties_table(moved)
    n_main = int(ranges["main"].sum())
    rest = f"{n_main - len(moved)} of {n_main} main scores no order can move. Other metrics: --all."
    return replace(table, notes=[*table.notes, rest])


def ties_table(ranges: pd.DataFrame) -> Table:
    """What the order of equal scores does, from :func:`mteb_ext.analysis.ties.tie_ranges`."""
    rows = [
        (
            *(row.task, row.split, row.subset, row.run, row.metric, f"{row.tied} of {row.n}"),
            *map(number, (row.expected, row.worst, row.best, row.trec_eval, row.width)),
            ", ".join(
                name
                for name, beyond in (
                    ("the 95% interval", row.beyond_interval),
                    ("the lead", row.beyond_lead),
                )
                if beyond
            ),
        )
        for row in ranges.itertuples()
    ]
    columns = (
        *("task", "split", "subset", "model", "metric", "queries with ties"),
        *("expected", "worst", "best", "trec_eval", "width", "wider than"),
    )
    return Table(
        "Ranking metrics over the orders of equal scores",
        columns,
        rows,
        [
            "expected: over random orders. wider than: main scores that the order of ties can move "
            "by more than the width of their 95% interval, or than their lead over the next model."
        ],
    )
