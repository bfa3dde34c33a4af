"""The rows of comparisons, ranks, ties and errors: a class a table, its columns the fields."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class TestSetRow:
    """What names a test set: a subset of a task's split, or the mean over several subsets.

    Attributes:
        task: The task.
        split: The split.
        subset: The subset; empty for a mean.
        metric: The result key.
        n: The number of pairs or queries.
        unit: ``pairs`` or ``queries``.
        subsets: How many of the task's subsets the score is over.
        all_subsets: How many the task has.
        whole: Whether these are all the subsets that were predicted in the split.
        headline: Whether it is the task's main score over all of them.
        dataset_revision: The revision of the data.
        edition: The edition of the data.
    """

    __test__ = False

    task: str
    split: str
    subset: str
    metric: str
    n: int
    unit: str
    subsets: int
    all_subsets: int
    whole: bool
    headline: bool
    dataset_revision: str
    edition: str


@dataclass(frozen=True)
class ScoreRow(TestSetRow):
    """A run's score.

    Attributes:
        run: The run.
        value: The score.
        letters: Runs that share a letter do not differ significantly; empty beside a baseline.
        best: Whether it is significantly better than every other run.
        not_worse: Whether it is not significantly worse than the best; None beside a baseline.
        rank_low: The best rank that the comparisons leave to it; None beside a baseline.
        rank_high: The worst one.
        beside_baseline: ``better``, ``worse``, ``same``, or ``baseline``; empty without one.
    """

    run: str
    value: float
    letters: str
    best: bool
    not_worse: bool | None
    rank_low: int | None
    rank_high: int | None
    beside_baseline: str


@dataclass(frozen=True)
class PairRow(TestSetRow):
    """The comparison of two runs; see :class:`mteb_ext.metrics.comparison.Comparison`.

    Attributes:
        p_equivalent: P-value that the runs differ by less than the margin (two one-sided tests);
            None without a margin.
        equivalent: Whether they do so significantly, after Holm's correction over the family.
    """

    first: str
    second: str
    first_value: float
    second_value: float
    difference: float
    low: float
    high: float
    wins: int | None
    ties: int | None
    losses: int | None
    differing: int
    sparse: bool
    test: str
    p: float
    p_adjusted: float
    significant: bool
    resolvable: float
    resolvable_adjusted: float
    p_williams: float | None
    p_equivalent: float | None
    equivalent: bool | None


@dataclass(frozen=True)
class GroupRow:
    """The runs of a model, and the one that stands for them."""

    task: str
    split: str
    metric: str
    model: str
    runs: int
    mean: float
    sd: float
    lowest: float
    highest: float
    run: str
    value: float
    chosen_by: str


@dataclass(frozen=True)
class RankRow:
    """A run's place over several tasks; see :class:`mteb_ext.metrics.ranks.OverallRank`."""

    run: str
    tasks: int
    rank: int
    rank_low: int
    rank_high: int
    borda: int
    borda_low: int
    borda_high: int
    mean_z: float
    mean_z_low: float
    mean_z_high: float


@dataclass(frozen=True)
class TaskRankRow:
    """A run's place on one task, among the runs that are ranked over tasks."""

    run: str
    task: str
    split: str
    rank: int
    rank_low: int
    rank_high: int


@dataclass(frozen=True)
class RecordRow:
    """On how many tasks one run is significantly better than another, corrected over the tasks."""

    first: str
    second: str
    tasks: int
    won: int
    lost: int


@dataclass(frozen=True)
class TieRow:
    """What the orders of equal scores make of one metric of a run.

    Attributes:
        task: The task.
        split: The split.
        subset: The subset.
        run: The run.
        metric: The result key.
        main: Whether it is the task's main score.
        n: The number of queries.
        tied: In how many of them a relevant and an irrelevant document tie.
        expected: The mean over queries of the expected value over random orders.
        worst: The same in the worst order.
        best: The same in the best order.
        trec_eval: The same in trec_eval's order.
        width: best - worst.
        low: The lower end of the main score's 95% interval; nan for other metrics.
        high: Its upper end.
        lead: The main score's lead over the next run; nan for the last run and other metrics.
        beyond_interval: Whether the width is larger than the interval.
        beyond_lead: Whether it is larger than the lead.
    """

    task: str
    split: str
    subset: str
    run: str
    metric: str
    main: bool
    n: int
    tied: int
    expected: float
    worst: float
    best: float
    trec_eval: float
    width: float
    low: float = math.nan
    high: float = math.nan
    lead: float = math.nan
    beyond_interval: bool = False
    beyond_lead: bool = False


@dataclass(frozen=True)
class _OfRun:
    """What names a run on a subset.

    Attributes:
        run: The run.
        task: The task.
        split: The split.
        subset: The subset.
    """

    run: str
    task: str
    split: str
    subset: str


@dataclass(frozen=True)
class WrongPairRow(_OfRun):
    """A pair that a run scores far from its gold.

    Attributes:
        id: The pair's row in the subset, from 0.
        gold: Its gold score.
        score: The run's score.
        distance: By how many standard deviations the score is above the gold, each in its own units
            (of ranks where the main score is Spearman's). The correlation is
            1 - the mean of the squares / 2.
        text: The pair's texts; empty where they are not asked for.
    """

    id: str
    gold: float
    score: float
    distance: float
    text: str = ""


@dataclass(frozen=True)
class WrongQueryRow(_OfRun):
    """A query on which a run's main score is low.

    Attributes:
        id: The query.
        metric: The task's main score.
        value: Its value on the query.
        first: The candidate that stands first; of equal ones one that is not relevant.
        first_score: Its score.
        right: The best-scored relevant candidate; empty where the run found none.
        right_score: Its score.
        right_rank: Its rank, from 1, with equal scores of irrelevant candidates before it.
        text: The query's text; empty where texts are not asked for.
        first_text: The first candidate's.
        right_text: The relevant candidate's.
    """

    id: str
    metric: str
    value: float
    first: str
    first_score: float
    right: str
    right_score: float
    right_rank: int
    text: str = ""
    first_text: str = ""
    right_text: str = ""


@dataclass(frozen=True)
class SliceRow(_OfRun):
    """A run's main score on a part of a subset's items.

    Attributes:
        by: What the items are parted by.
        part: The part.
        n: How many pairs or queries it has.
        metric: The task's main score.
        value: Its value on the part. Nan for a correlation within a band of gold: the less gold
            varies, the lower it is, whatever the run.
        low: The lower end of its 95% interval.
        high: The upper end.
        shift: Pairs: the mean of their distances, above 0 where the run's scores are too high. Nan
            for queries.
    """

    by: str
    part: str
    n: int
    metric: str
    value: float
    low: float
    high: float
    shift: float = math.nan


_COUNTS = ("wins", "ties", "losses", "rank_low", "rank_high")


def columns(row: type) -> tuple[str, ...]:
    """The columns of a class of rows."""
    return tuple(field.name for field in fields(row))


def frame(rows: Sequence[Any], row: type) -> pd.DataFrame:
    """Rows as a frame, with the columns of their class even if there are none."""
    import pandas as pd

    names = columns(row)
    found = pd.DataFrame([[getattr(r, name) for name in names] for r in rows], columns=list(names))
    return found.astype({name: "Int64" for name in _COUNTS if name in names})
