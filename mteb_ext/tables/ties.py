"""What ``mteb-ext ties`` shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mteb_ext.tables.table import Table
from mteb_ext.tables.text import number

if TYPE_CHECKING:
    import pandas as pd


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
