"""Ranks of runs over tasks, and how sure they are."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from mteb_ext.analysis.rows import PairRow, RankRow, RecordRow, TaskRankRow
from mteb_ext.metrics.comparison import LEVEL
from mteb_ext.metrics.ranks import TestSetScores, overall_ranks
from mteb_ext.metrics.significance import holm
from mteb_ext.plugin.benchmarks import benchmarks
from mteb_ext.plugin.discovery import plugin_benchmarks


@dataclass(frozen=True)
class Evidence:
    """What a task's headline says of its runs, item by item.

    Attributes:
        task: The task.
        split: The split.
        runs: The runs.
        scores: Their scores, and the influences of the items.
        judgements: A digest of the gold, row by row: two tasks that share it hold the same
            judgements.
        pairs: The comparisons of the runs.
    """

    task: str
    split: str
    runs: Sequence[str]
    scores: TestSetScores
    judgements: str
    pairs: Sequence[PairRow]

    def kept(self, runs: Collection[str]) -> Evidence:
        """The same of some of the runs."""
        names = [run for run in self.runs if run in runs]
        return replace(self, runs=names, scores=self.of(names))

    def of(self, runs: Sequence[str]) -> TestSetScores:
        """The scores of some of the runs, in their order."""
        kept = [self.runs.index(run) for run in runs]
        return TestSetScores(
            self.scores.scores[kept], self.scores.influences[kept], self.scores.items
        )


def in_benchmark_order(evidence: Sequence[Evidence]) -> list[Evidence]:
    """Tasks in the order of the benchmarks, those of the papers first; then others by name.

    Of two tasks with the same judgements the earlier one counts. That is the one of the paper's
    benchmark, whatever the order in which files are found.
    """
    names = [t.metadata.name for b in (*benchmarks(), *plugin_benchmarks()) for t in b.tasks]
    place = {name: i for i, name in reversed(list(enumerate(names)))}
    last = len(names)
    return sorted(evidence, key=lambda one: (place.get(one.task, last), one.task, one.split))


def counted_once(evidence: Sequence[Evidence]) -> list[Evidence]:
    """The tasks that ranks are over.

    Only the tasks with the most runs count: a task of two runs would leave out all other runs. Of
    tasks with the same judgements the first counts.
    """
    first: dict[str, Evidence] = {}
    most = max((len(one.runs) for one in evidence), default=0)
    for one in (one for one in evidence if len(one.runs) == most):
        first.setdefault(one.judgements, one)
    return list(first.values())


def rank_runs(evidence: Sequence[Evidence], *, level: float = LEVEL) -> list[RankRow]:
    """The places of the runs, the best first.

    Args:
        evidence: Of each task; see `counted_once` for those that count.
        level: One minus the confidence.
    """
    counted = counted_once(evidence)
    runs = _common_runs(counted)
    if not runs:
        return []
    found = overall_ranks([one.of(runs) for one in counted], level=level)
    if len(counted) == 1:  # the task's own comparisons decide, as for its letters
        alone = {row.run: row for row in task_ranks(counted)}
        found = [
            replace(r, rank_low=alone[run].rank_low, rank_high=alone[run].rank_high)
            for run, r in zip(runs, found, strict=True)
        ]
    rows = [
        RankRow(
            run=run,
            tasks=len(counted),
            rank=r.rank,
            rank_low=r.rank_low,
            rank_high=r.rank_high,
            borda=r.borda,
            borda_low=r.borda_low,
            borda_high=r.borda_high,
            mean_z=r.mean_z,
            mean_z_low=r.mean_z_low,
            mean_z_high=r.mean_z_high,
        )
        for run, r in zip(runs, found, strict=True)
    ]
    return sorted(rows, key=lambda row: (row.rank, row.run))


def task_ranks(evidence: Sequence[Evidence]) -> list[TaskRankRow]:
    """The ranks on each of the tasks that count, with the sets that its comparisons leave."""
    counted = counted_once(evidence)
    runs = _common_runs(counted)
    rows = []
    for one in counted:
        values = one.of(runs).scores
        sure = [row for row in one.pairs if row.significant and {row.first, row.second} <= {*runs}]
        better = [row.first if row.difference > 0 else row.second for row in sure]
        worse = [row.second if row.difference > 0 else row.first for row in sure]
        rows += [
            TaskRankRow(
                run=run,
                task=one.task,
                split=one.split,
                rank=1 + int((values > value).sum()),
                rank_low=1 + worse.count(run),
                rank_high=len(runs) - better.count(run),
            )
            for run, value in zip(runs, values, strict=True)
        ]
    return rows


def records(evidence: Sequence[Evidence], *, level: float = LEVEL) -> list[RecordRow]:
    """For every two runs the tasks that are won and lost, by Holm's correction over the tasks.

    Dror, Baumer, Bogomolov and Reichart, "Replicability Analysis for Natural Language Processing"
    (TACL 2017). The p-values are those already corrected for all pairs of runs.
    """
    counted = counted_once(evidence)
    by_pair: dict[frozenset[str], list[PairRow]] = {}
    for one in counted:
        for row in one.pairs:
            by_pair.setdefault(frozenset((row.first, row.second)), []).append(row)
    found = []
    for first, second in combinations(_common_runs(counted), 2):
        rows = by_pair[frozenset((first, second))]
        sure = holm(np.array([row.p_adjusted for row in rows])) <= level
        better = [row.first == first if row.difference > 0 else row.second == first for row in rows]
        won = sum(s and b for s, b in zip(sure, better, strict=True))
        found.append(RecordRow(first, second, len(rows), int(won), int(sure.sum() - won)))
    return found


def _common_runs(evidence: Sequence[Evidence]) -> list[str]:
    if not evidence:
        return []
    return [run for run in evidence[0].runs if all(run in one.runs for one in evidence)]
