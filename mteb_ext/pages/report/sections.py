"""What the sections of the report page show, in the order of the page; templates show it."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from mteb_ext.analysis.editions import OTHER, PAPERS
from mteb_ext.analysis.ranking import in_benchmark_order, rank_runs, task_ranks
from mteb_ext.analysis.rows import RankRow, TaskRankRow, frame
from mteb_ext.pages.report import charts
from mteb_ext.pages.report.charts import Spec
from mteb_ext.pages.report.data import shares
from mteb_ext.pages.report.tables import (
    bins_table,
    breakdown_table,
    differing_table,
    published_table,
    rescaled_table,
)
from mteb_ext.tables.compare import difference_tables, ranks_table
from mteb_ext.tables.leaks import seen_table
from mteb_ext.tables.report import models_table
from mteb_ext.tables.table import Table
from mteb_ext.tables.text import metric_name, number, printable
from mteb_ext.tables.ties import ties_table
from mteb_ext.tables.wrong import wrong_tables

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from mteb_ext.analysis.comparing import Compared
    from mteb_ext.pages.report.data import PageData, Scatter

_KIND = ["task", "split", "dataset_revision", "metric", "subsets"]
_LEVELS = (1 << 16) - 1  # of a packed number


@dataclass(frozen=True)
class Figure:
    """A chart, which the page's script draws.

    Attributes:
        key: Where the script finds its data.
        title: Its caption.
        description: Its text for screen readers.
        tables: Its numbers.
    """

    key: str
    title: str
    description: str
    tables: Sequence[Table] = ()


@dataclass(frozen=True)
class Cell:
    """A model's headline, as it stands in the table of all models."""

    value: float
    letters: str
    best: bool  # significantly better than every other model
    highest: bool


@dataclass(frozen=True)
class Models:
    """All models by all headlines.

    Attributes:
        heads: What names each headline: lines.
        rows: Each model's cells, None where it has no such headline; models with more of them and
            with higher scores first.
        lettered: Whether there are letters.
        headlines: The same with intervals.
        seen: What may have been trained on; None where nothing says so.
        ranks: The ranks over tasks, and their table; None where there are none.
    """

    heads: Sequence[Sequence[str]]
    rows: Sequence[tuple[str, Sequence[Cell | None]]]
    lettered: bool
    headlines: Table
    seen: Table | None
    ranks: tuple[Figure, Table] | None


@dataclass(frozen=True)
class Significance:
    """The significance matrix of a task.

    Attributes:
        matrix: Its chart.
        runs: The models in its order.
        test: The name of the test.
    """

    matrix: Figure
    runs: Sequence[str]
    test: str


@dataclass(frozen=True)
class Scatters:
    """Gold and scores of a task's subsets.

    Attributes:
        runs: The models to choose from, the best first, with their numbers in the page's data.
        figures: A chart a subset, of whichever model is chosen.
        rescaled: The share of pairs within 1.0 of gold; None where gold lies on no rating scale.
    """

    runs: Sequence[tuple[int, str]]
    figures: Sequence[Figure]
    rescaled: Table | None


@dataclass(frozen=True)
class Split:
    """What is shown of one split of a task; each part may be missing."""

    name: str
    significance: Significance | None
    scatters: Scatters | None
    queries: Sequence[Figure]
    parts: Sequence[Figure]

    @property
    def is_empty(self) -> bool:
        """Whether nothing is shown."""
        return not (self.significance or self.scatters or self.queries or self.parts)


@dataclass(frozen=True)
class Task:
    """The section of a task.

    Attributes:
        name: The task.
        splits: Its splits.
        differences: Every difference.
        wrong: What each model gets wrong, by its name.
    """

    name: str
    splits: Sequence[Split]
    differences: Sequence[Table]
    wrong: Mapping[str, Sequence[Table]]


@dataclass
class Sections:
    """The sections of the page, and the data of their charts.

    Attributes:
        data: What the page shows.
        charts: Specifications of charts by key, filled as sections are made.
        scatters: Packed data of scatter plots by key, likewise.
    """

    data: PageData
    charts: dict[str, Any] = field(default_factory=dict)
    scatters: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        found = {run for scatter in self.data.scatters for run in scatter.scores}
        self.runs = sorted(found | set(self.data.headlines["run"]))

    def models(self) -> Models:
        """The first section."""
        rows, kinds = self.data.headlines, dict[tuple[Any, ...], list[str]]()
        cells: dict[str, dict[tuple[Any, ...], Cell]] = {}
        marks = {
            (row.run, row.task, row.split, row.dataset_revision): (row.letters, row.best)
            for compared in self.data.compared.values()
            for row in compared.scores[compared.scores["headline"]].itertuples()
        }
        values = rows.pivot(index="run", columns=_KIND, values="value")
        lacking, standing = values.isna().sum(axis=1), values.rank(pct=True).mean(axis=1)
        order = sorted(values.index, key=lambda run: (lacking[run], -standing[run], run))
        for row in rows.itertuples():
            kind = tuple(getattr(row, name) for name in _KIND)
            kinds.setdefault(kind, [row.task, row.split, _metric(row), _data_of(row)])
            where = (row.run, row.task, row.split, row.dataset_revision)
            letters, best = marks.get(where, ("", False))
            highest = row.value == values[kind].max()
            cells.setdefault(row.run, {})[kind] = Cell(row.value, letters, best, highest)
        return Models(
            heads=list(kinds.values()),
            rows=[(run, [cells[run].get(kind) for kind in kinds]) for run in order],
            lettered=bool(marks),
            headlines=models_table(rows),
            seen=seen_table(self.data.seen) if self.data.seen else None,
            ranks=self._ranks(),
        )

    def _ranks(self) -> tuple[Figure, Table] | None:
        found = [one for c in self.data.compared.values() for one in c.evidence]
        evidence = in_benchmark_order(found)
        if len(evidence) < 2 or not (ranks := rank_runs(evidence)):
            return None
        table = ranks_table(frame(ranks, RankRow))
        tasks = frame(task_ranks(evidence), TaskRankRow)
        names = ", ".join(dict.fromkeys(tasks["task"]))
        title = f"{table.title}: the dot is the rank, the bar its set; thin bars: {names}"
        spec = charts.ranks(frame(ranks, RankRow), tasks, f"{title}. {table.notes[0]}")
        return self._figure(spec, title), table

    def headlines(self) -> list[Figure]:
        """A forest plot for each headline."""
        return [self._forest(rows) for _, rows in self.data.headlines.groupby(_KIND, sort=False)]

    def _forest(self, rows: pd.DataFrame) -> Figure:
        first = next(rows.itertuples())
        title = f"{first.task}, {first.split}: {_metric(first)}, {_data_of(first)}"
        published = self._published(first)
        best = f"{printable(first.run)} is first with {number(first.value)}"
        spec = charts.forest(rows, published, f"Forest plot of {title}. {best}.")
        tables = [models_table(rows)]
        if len(published):
            tables.append(published_table(published))
        return self._figure(spec, title, tables)

    def _published(self, headline: Any) -> pd.DataFrame:  # noqa: ANN401 - a row
        rows = self.data.published
        here = (rows["task"] == headline.task) & (rows["metric"] == headline.metric)
        whole = headline.edition == PAPERS and headline.subsets == headline.all_subsets
        return rows[here if whole and headline.split == "test" else here & False]

    def tasks(self) -> list[Task]:
        """The sections of the tasks of which there is more than headlines."""
        names = dict.fromkeys(map(str, self.data.headlines["task"]))
        found = map(self._task, names)
        return [task for task in found if task.splits or task.differences or task.wrong]

    def _task(self, name: str) -> Task:
        splits = self.data.headlines.query("task == @name")["split"].unique()
        shown = [split for each in splits if not (split := self._split(name, each)).is_empty]
        compared = self.data.compared.get(name)
        differences = list(difference_tables(compared)) if compared else ()
        wrong = self.data.wrong.get(name)
        return Task(name, shown, differences, wrong_tables(wrong) if wrong else {})

    def _split(self, task: str, split: str) -> Split:
        compared = self.data.compared.get(task)
        return Split(
            split,
            self._significance(compared, task, split) if compared else None,
            self._scatters(task, split),
            list(self._queries(task, split)),
            list(self._parts(task, split)),
        )

    def _significance(self, compared: Compared, task: str, split: str) -> Significance | None:
        scores, pairs = (
            frame[frame["headline"] & (frame["split"] == split)]
            for frame in (compared.scores, compared.pairs)
        )
        if pairs.empty:
            return None
        order = list(scores["run"])
        n_significant = int(pairs["significant"].sum())
        described = (
            f"Significance matrix of {task}: {n_significant} of {len(pairs)} differences are "
            "significant."
        )
        spec = charts.matrix(order, pairs, described)
        matrix = self._figure(spec, described)
        return Significance(matrix, order, str(pairs["test"].iloc[0]))

    def _scatters(self, task: str, split: str) -> Scatters | None:
        shown = [s for s in self.data.scatters if (s.task, s.split) == (task, split)]
        if not shown:
            return None
        rescaled = _of(self.data.rescaled, task, split)
        best_first = self.data.headlines.query("task == @task and split == @split")["run"]
        runs = sorted(shown[0].scores, key=[*best_first, *self.runs].index)
        return Scatters(
            [(self.runs.index(run), run) for run in runs],
            [self._scatter(scatter, rescaled) for scatter in shown],
            rescaled_table(rescaled) if len(rescaled) else None,
        )

    def _scatter(self, scatter: Scatter, rescaled: pd.DataFrame) -> Figure:
        key = f"p{len(self.scatters)}"
        here = rescaled[rescaled["subset"] == scatter.subset]
        name = f"{scatter.task}, {scatter.subset}, {len(scatter.gold):,} pairs"
        self.scatters[key] = {
            "name": printable(name),
            "gold": packed(scatter.gold),
            "scores": {
                str(self.runs.index(run)): packed(scores) for run, scores in scatter.scores.items()
            },
            "scale": [here["bottom"].iloc[0], here["top"].iloc[0]] if len(here) else None,
            "within": {str(self.runs.index(row.run)): row.within for row in here.itertuples()},
            "texts": list(map(printable, scatter.texts)),
        }
        return Figure(key, name, f"Scatter plot of {name}")

    def _queries(self, task: str, split: str) -> Iterator[Figure]:
        for subset, rows in _of(self.data.distribution, task, split).groupby("subset", sort=False):
            title = f"Distribution of {rows['metric'].iloc[0]} over {rows['of'].iloc[0]:,} queries"
            title = _titled(title, str(subset))
            spec = charts.distribution(rows, f"{title}. The upright mark is the mean.")
            yield self._figure(spec, f"{title}; the upright mark is the mean", [bins_table(rows)])
        for subset, rows in _of(self.data.ties, task, split).groupby("subset", sort=False):
            title = f"{rows[rows['main']]['metric'].iloc[0]} over the orders of equal scores"
            title = _titled(title, str(subset))
            spec = charts.ties(rows[rows["main"]], title)
            yield self._figure(spec, f"{title}, worst to best", [ties_table(rows)])
        for subset, rows in _of(self.data.differing, task, split).groupby("subset", sort=False):
            metric = str(rows["metric"].iloc[0])
            title = _titled("Queries on which the models differ most", str(subset))
            exact = rows.assign(low=math.nan, high=math.nan)
            spec = charts.dots(exact, "query", self.runs, title, title=metric)
            yield self._figure(spec, title, [differing_table(rows)])

    def _parts(self, task: str, split: str) -> Iterator[Figure]:
        found = _of(self.data.breakdown, task, split)
        for _, rows in found.groupby("dataset_revision", sort=False):
            metric = str(rows["metric"].iloc[0])
            title = f"{metric} by part of the data"
            spec = charts.dots(rows, "part", self.runs, f"{title} of {task}.", title=metric)
            yield self._figure(spec, title, [breakdown_table(rows)])

    def versions(self) -> Table:
        """The editions of the data, and the versions of what read it."""
        rows = []
        for kind, group in self.data.headlines.groupby(_KIND, sort=False):
            first = next(group.itertuples())
            n = "" if group["n"].isna().any() else f"{first.n:,}"
            versions = ", ".join(sorted(set(group["mteb_version"])))
            rows.append((first.task, first.split, first.edition, kind[2], n, versions))
        columns = ("task", "split", "data", "dataset revision", "pairs or queries", "mteb")
        return Table("Data", columns, rows)

    def _figure(self, spec: Spec, title: str, tables: Sequence[Table] = ()) -> Figure:
        key = f"c{len(self.charts)}"
        self.charts[key] = spec
        return Figure(key, title, spec["description"], tables)


def packed(values: NDArray[np.float64]) -> Mapping[str, Any]:
    """Numbers as 16 bits each between the smallest and the largest: finer than a screen."""
    low, high = float(values.min()), float(values.max())
    codes = np.rint(shares(values) * _LEVELS).astype("<u2")
    return {"low": low, "high": high, "codes": base64.b64encode(codes.tobytes()).decode("ascii")}


def _metric(row: Any) -> str:  # noqa: ANN401 - a headline
    return metric_name(row.metric, row.subset, row.subsets, row.all_subsets)


def _data_of(row: Any) -> str:  # noqa: ANN401 - a headline
    return f"{row.edition} of the data" if row.edition == OTHER else f"{row.edition} data"


def _of(frame: pd.DataFrame, task: str, split: str) -> pd.DataFrame:
    if frame.empty:
        return frame.assign(subset=[], dataset_revision=[])
    return frame[(frame["task"] == task) & (frame["split"] == split)]


def _titled(title: str, subset: str) -> str:
    return title if subset == "default" else f"{title}, {subset}"
