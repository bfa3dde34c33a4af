"""The tables of ``mteb-ext compare``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mteb_ext.rendering.table import Table
from mteb_ext.rendering.text import number

if TYPE_CHECKING:
    import pandas as pd


def comparison_table(task: str, frame: pd.DataFrame) -> Table:
    """The tests of two models on one task, from :func:`mteb_ext.results.comparing.compare_two`."""
    models = frame[["model_a", "model_b"]].iloc[0].map(str)
    return Table(
        task,
        ("subset", "split", *models, "statistic", "p", "p (Holm)"),
        [
            (
                row.subset,
                row.split,
                number(row.value_a),
                number(row.value_b),
                number(row.statistic, 3),
                number(row.p),
                number(row.p_holm),
            )
            for row in frame.itertuples()
        ],
    )
