"""What the order of equal scores does to the ranking metrics of each run."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mteb_ext.analysis.cells import Cell, find_runs, load_cells
from mteb_ext.analysis.folder import Folders, ResultsFolder
from mteb_ext.bases.candidates import RankedLists
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

COLUMNS = (
    *("task", "split", "subset", "run", "metric", "main", "n", "tied"),
    *(*ORDERS, "width", "low", "high", "lead"),
    *("beyond_interval", "beyond_lead"),
)


def tie_ranges(folders: Folders, names: str | Sequence[str] = ()) -> pd.DataFrame:
    """The values that each ranking metric can take over the orders of equal scores.

    Args:
        folders: Folders that hold prediction files of ranking tasks, mteb's own too.
        names: Tasks; all that are found if left out.

    Returns:
        A row for each metric of each run, with the columns `COLUMNS`: the value ``expected`` over
        random orders, ``worst``, ``best`` and trec_eval's; ``width`` is best - worst, ``tied`` the
        number of the ``n`` queries in which a relevant and an irrelevant document tie. For a
        task's ``main`` score also the 95% interval of the expected value, its ``lead`` over the
        next run, and whether the width goes beyond the interval's width or the lead: the order of
        ties then decides more than the sample, or than the models. Both are nan elsewhere.

    Raises:
        DataError: If there are no predictions of a ranking task, or they do not fit its data.
    """
    import pandas as pd

    rows: list[dict[str, Any]] = []
    folder = ResultsFolder.of(folders)
    for name, files in find_runs(folder, names, fewest=1, types=("Retrieval", "Reranking")).items():
        for cell in load_cells(folder, name, files).cells:
            rows += ties_of(cell)
    return pd.DataFrame(rows, columns=list(COLUMNS))


def ties_of(cell: Cell) -> list[dict[str, Any]]:
    """The rows of :func:`tie_ranges` of one subset of a ranking task."""
    main = cell.main
    rows = [
        {
            "task": cell.task.metadata.name,
            "split": cell.split,
            "subset": cell.subset,
            "run": run,
            **row,
            "main": row["metric"] == str(main),
        }
        for run in cell.files
        for row in _of_run(cell.lists(run), list(dict.fromkeys((main, *MEASURES))), main)
    ]
    mains = sorted((row for row in rows if row["main"]), key=lambda row: -row["expected"])
    for row, following in zip(mains, [*mains[1:], None], strict=True):
        row["lead"] = row["expected"] - following["expected"] if following else math.nan
        row["beyond_interval"] = row["width"] > row["high"] - row["low"] + _ROUNDING
        row["beyond_lead"] = row["width"] > row["lead"] + _ROUNDING
    return rows


def _of_run(
    lists: RankedLists, measures: Iterable[Measure], main: Measure
) -> Iterator[dict[str, Any]]:
    for measure in measures:
        try:
            values = {order: lists.values(replace(measure, ties=order)) for order in ORDERS}
        except ProtocolError:
            continue  # these predictions do not allow it
        means = {order: float(of_queries.mean()) for order, of_queries in values.items()}
        row: dict[str, Any] = {
            "metric": str(measure),
            "n": values["expected"].size,
            "tied": int(lists.tied(measure).sum()),
            **{str(order): value for order, value in means.items()},
            "width": means["best"] - means["worst"],
            "low": math.nan,
            "high": math.nan,
            "lead": math.nan,
            "beyond_interval": False,
            "beyond_lead": False,
        }
        if measure == main:
            with suppress(UndefinedMetricError):  # of one query
                row["low"], row["high"] = mean_interval(values["expected"])
        yield row
