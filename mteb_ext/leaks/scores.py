"""Each model's score on the items that were seen and on those that were not."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mteb_ext.analysis.cells import Cell, find_runs, load_cells
from mteb_ext.analysis.folder import ResultsFolder
from mteb_ext.analysis.gold import PairGold
from mteb_ext.errors import UndefinedMetricError
from mteb_ext.metrics.correlation import pearson, spearman
from mteb_ext.metrics.significance import correlation_interval, mean_interval
from mteb_ext.metrics.two_samples import Difference, correlation_difference, mean_difference

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mteb_ext.formats.leaks import Leaks, SubsetSeen
    from mteb_ext.metrics.significance import Interval

FEWEST = 20
"""Items, seen or unseen, below which nothing is said: the interval of a correlation of .8 would be
wider than .4."""


@dataclass(frozen=True)
class PartScore:
    """A score on some of the items.

    Attributes:
        n: How many there are.
        value: The score; nan where there are too few, or it is undefined.
        low: Lower end of its 95% interval; nan where there is none.
        high: Its upper end.
    """

    n: int
    value: float = math.nan
    low: float = math.nan
    high: float = math.nan


@dataclass(frozen=True)
class SeenScore:
    """One run's main score of a subset, by what was seen.

    Attributes:
        task: The task's name.
        split: The split.
        subset: The subset.
        run: The run.
        metric: The main score's metric.
        all: On all items that the headline is over.
        unseen: On those without a text in the training data.
        seen: On those with one.
        difference: Seen minus unseen, with its test; None where there are too few of either.
    """

    task: str
    split: str
    subset: str
    run: str
    metric: str
    all: PartScore
    unseen: PartScore
    seen: PartScore
    difference: Difference | None


@dataclass(frozen=True)
class _Measured:
    """How the items of a run are scored, by which of them."""

    value: Callable[[NDArray[np.bool_]], float]
    interval: Callable[[NDArray[np.bool_]], Interval]
    difference: Callable[[NDArray[np.bool_]], Difference]

    def part(self, here: NDArray[np.bool_]) -> PartScore:
        """The score of some items."""
        count = int(here.sum())
        if count < FEWEST:
            return PartScore(count)
        try:
            return PartScore(count, self.value(here), *self.interval(here))
        except UndefinedMetricError:  # the scores of these items are constant
            return PartScore(count)


def scores_by_seen(folders: Sequence[Path], leaks: Leaks) -> list[SeenScore]:
    """Score every run in folders on the seen and on the unseen items.

    An item is seen if one of its texts is in the training data, exactly or nearly.

    Args:
        folders: Folders that hold prediction files.
        leaks: What was seen.

    Raises:
        DataError: If a folder has no predictions of a task, or they do not fit its data.
    """
    seen = {(part.task, part.split, part.subset): part for part in leaks.tasks}
    tasks = list(dict.fromkeys(part.task for part in leaks.tasks))
    folder = ResultsFolder.of(folders)
    return [
        score
        for name, files in find_runs(folder, tasks, fewest=1).items()
        for cell in load_cells(folder, name, files).cells
        if (key := (name, cell.split, cell.subset)) in seen
        for score in _of_cell(cell, seen[key])
    ]


def _of_cell(cell: Cell, seen: SubsetSeen) -> Iterator[SeenScore]:
    ids = {*seen.exact_items, *seen.near_items}
    for run, values in zip(cell.files, cell.scores(cell.main), strict=True):
        items = cell.lists(run).queries(cell.main) if seen.item == "question" else None
        names = items if items is not None else map(str, range(values.size))
        here = np.array([name in ids for name in names], np.bool_)
        measured = _measured(cell, values)
        unseen, seen_ones = measured.part(~here), measured.part(here)
        enough = not (math.isnan(unseen.value) or math.isnan(seen_ones.value))
        yield SeenScore(
            task=cell.task.metadata.name,
            split=cell.split,
            subset=cell.subset,
            run=run,
            metric=str(cell.main),
            all=measured.part(np.ones_like(here)),
            unseen=unseen,
            seen=seen_ones,
            difference=measured.difference(here) if enough else None,
        )


def _measured(cell: Cell, values: NDArray[np.float64]) -> _Measured:
    if not isinstance(cell.gold, PairGold):
        return _Measured(
            lambda here: float(values[here].mean()),
            lambda here: mean_interval(values[here]),
            lambda here: mean_difference(values[here], values[~here]),
        )
    gold, method = cell.gold.of(cell.main), cell.main.coefficient
    coefficient = pearson if method == "pearson" else spearman
    return _Measured(
        lambda here: coefficient(values[here], gold[here]),
        lambda here: correlation_interval(values[here], gold[here], method),
        lambda here: correlation_difference(
            (values[here], gold[here]), (values[~here], gold[~here]), method
        ),
    )
