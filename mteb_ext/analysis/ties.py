"""What the order of equal scores does to the ranking metrics of each run."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from mteb_ext.analysis.cells import Cell, find_runs, load_cells
from mteb_ext.analysis.folder import Folders, ResultsFolder
from mteb_ext.analysis.rows import TieRow, frame
from mteb_ext.errors import ProtocolError, UndefinedMetricError
from mteb_ext.measures import Measure, TieOrder
from mteb_ext.metrics.significance import mean_interval

if TYPE_CHECKING:
    import pandas as pd

MEASURES = (
    Measure("map"),
    Measure("mrr"),
    Measure("map", 1000),
    Measure("mrr", 10),
    Measure("ndcg", 10),
    Measure("precision", 1),
    Measure("precision", 5),
    Measure("recall", 100),
    Measure("hit_rate", 10),
)
"""What is shown of every task beside its main score, where its predictions allow it."""

_ROUNDING = 1e-12  # of means that would be equal

ORDERS: Sequence[TieOrder] = ("expected", "worst", "best", "trec_eval")


def tie_ranges(folders: Folders, names: str | Sequence[str] = ()) -> pd.DataFrame:
    """The values that each ranking metric can take over the orders of equal scores.

    Args:
        folders: Folders that hold prediction files of ranking tasks, mteb's own too.
        names: Tasks; all that are found if left out.

    Returns:
        A row for each metric of each run, with the fields of :class:`TieRow` as columns.

    Raises:
        DataError: If there are no predictions of a ranking task, or they do not fit its data.
    """
    folder = ResultsFolder.of(folders)
    runs = find_runs(folder, names, fewest=1, types=("Retrieval", "Reranking"))
    rows = [
        row
        for name, files in runs.items()
        for cell in load_cells(folder, name, files).cells
        for row in ties_of(cell)
    ]
    return frame(rows, TieRow)


def ties_of(cell: Cell) -> list[TieRow]:
    """The rows of :func:`tie_ranges` of one subset of a ranking task."""
    measures = list(dict.fromkeys((cell.main, *MEASURES)))
    rows = [row for run in cell.files for row in _of_run(cell, run, measures)]
    mains = sorted((row for row in rows if row.main), key=lambda row: -row.expected)
    following = [row.expected for row in mains[1:]] + [math.nan]
    leads = {row.run: row.expected - next_ for row, next_ in zip(mains, following, strict=True)}
    return [_judged(row, leads[row.run]) if row.main else row for row in rows]


def _judged(row: TieRow, lead: float) -> TieRow:
    """A main score's row with its lead over the next run, and what its width goes beyond."""
    return replace(
        row,
        lead=lead,
        beyond_interval=row.width > row.high - row.low + _ROUNDING,
        beyond_lead=row.width > lead + _ROUNDING,
    )


def _of_run(cell: Cell, run: str, measures: Iterable[Measure]) -> Iterator[TieRow]:
    lists = cell.lists(run)
    for measure in measures:
        try:
            values = {order: lists.values(replace(measure, ties=order)) for order in ORDERS}
        except ProtocolError:
            continue  # these predictions do not allow it
        means = {order: float(of_queries.mean()) for order, of_queries in values.items()}
        low, high = math.nan, math.nan
        if measure == cell.main:
            with suppress(UndefinedMetricError):  # of one query
                low, high = mean_interval(values["expected"])
        yield TieRow(
            task=cell.task.metadata.name,
            split=cell.split,
            subset=cell.subset,
            run=run,
            metric=str(measure),
            main=measure == cell.main,
            n=values["expected"].size,
            tied=int(lists.tied(measure).sum()),
            expected=means["expected"],
            worst=means["worst"],
            best=means["best"],
            trec_eval=means["trec_eval"],
            width=means["best"] - means["worst"],
            low=low,
            high=high,
        )
