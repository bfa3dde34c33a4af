"""Many models on many test sets: scores, differences, and how sure these are."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from mteb_ext.analysis.beside import published_beside
from mteb_ext.analysis.cells import Cell, find_runs, load_cells
from mteb_ext.analysis.editions import edition, subsets_of
from mteb_ext.analysis.folder import Folders, ResultsFolder
from mteb_ext.analysis.gold import PairGold, QueryGold
from mteb_ext.analysis.ranking import Evidence, in_benchmark_order, rank_runs, records
from mteb_ext.analysis.rows import (
    GroupRow,
    PairRow,
    RankRow,
    RecordRow,
    ScoreRow,
    TestSetRow,
    columns,
    frame,
)
from mteb_ext.bases.sts import COEFFICIENTS
from mteb_ext.data.sources import DataNotProvidedError
from mteb_ext.errors import DataError, OfflineError, ProtocolError, UndefinedMetricError
from mteb_ext.measures import Measure
from mteb_ext.metrics.comparison import (
    LEVEL,
    Comparison,
    compare_correlations_of,
    compare_means_of,
    equivalence_p,
    influences_of,
    letters,
)
from mteb_ext.metrics.ranks import TestSetScores, rank_sets
from mteb_ext.metrics.significance import holm
from mteb_ext.names import did_you_mean

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from mteb_ext.formats.predictions import Predictions

logger = logging.getLogger(__name__)

RANDOMISATION = "paired randomisation test over queries"
RESAMPLING = "bootstrap-t of the difference"

SCORE_COLUMNS, PAIR_COLUMNS, GROUP_COLUMNS = map(columns, (ScoreRow, PairRow, GroupRow))
ITEM_COLUMNS = (
    *("task", "split", "subset", "metric", "id", "first", "second"),
    *("first_value", "second_value", "difference"),
)
_MAIN: tuple[None] = (None,)  # the main score, whichever a task's is
_DEV = ("dev", "validation")


@dataclass(frozen=True)
class Compared:
    """What a comparison found, as frames.

    A test set is a subset of a split of a task, or the headline over several subsets, whose subset
    is empty. Every frame names it by task, split, subset, metric, the number ``n`` of its ``unit``
    (pairs or queries), how many of the task's subsets it is over, whether it is the ``whole`` of
    what was predicted in the split and the task's ``headline``, and the edition of the data.

    Attributes:
        scores: `SCORE_COLUMNS`: a row a run and test set, the best first. Runs that share a letter
            do not differ significantly; ``best`` marks one that differs from all others. Against a
            baseline there are neither, and ``beside_baseline`` says whether a run is
            significantly ``better`` or ``worse``, the ``same`` or the ``baseline`` itself.
        pairs: `PAIR_COLUMNS`: a row a comparison, from :mod:`mteb_ext.metrics.comparison`.
        published: Published numbers of the test sets' variants, without a test: no predictions
            of these systems are known.
        groups: `GROUP_COLUMNS`: a row a model and split where runs are grouped, else empty: mean,
            standard deviation and range over its runs, and the run that stands for them.
        remarks: What limits the comparison, in sentences.
        ranks: The columns of `RankRow`: a row a run that has all tasks, the best first; empty
            beside a baseline, and for a single task.
        records: The columns of `RecordRow`: the tasks that one run won and lost against another.
        evidence: What the ranks are computed from, a task's headline each.
        level: The level of significance.
        test_sets: What was compared; `item_differences` takes the single subsets apart.
    """

    scores: pd.DataFrame
    pairs: pd.DataFrame
    published: pd.DataFrame
    groups: pd.DataFrame
    remarks: Sequence[str]
    ranks: pd.DataFrame
    records: pd.DataFrame
    evidence: Sequence[Evidence] = ()
    level: float = LEVEL
    test_sets: Sequence[_TestSet] = ()

    def item_differences(self) -> Iterator[pd.DataFrame]:
        """Every difference, item by item: a frame of `ITEM_COLUMNS` for each row of single subsets.

        A value is the query's. For a correlation it is the pair's pseudo-value, which is the
        correlation plus what the pair adds to it (Tukey's jackknife). In either case the values'
        mean is the model's score, and the differences' mean the difference of the two scores.
        """
        by_set = dict(iter(self.pairs.groupby(["task", "split", "subset", "metric"])))
        for tests in self.test_sets:
            facts = tests.facts()
            key = (facts.task, facts.split, facts.subset, facts.metric)
            if facts.subset and key in by_set:
                yield from tests.item_differences(by_set[key])


def compare_runs(
    folders: Folders,
    names: str | Sequence[str] = (),
    *,
    metric: str | Sequence[str] = (),
    baseline: str | None = None,
    group: bool = False,
    level: float = LEVEL,
    margin: float | None = None,
) -> Compared:
    """Compare the models whose prediction files are in folders.

    Args:
        folders: Folders that hold prediction files at any depth. A file that does not fit the data
            or the other files is left out, and a remark names it.
        names: Tasks; all that are found if left out.
        metric: A result key, for example ``ndcg_at_10``, or several; each task's main score if left
            out. Tasks whose predictions do not allow it are named by a logged warning and left
            out.
        baseline: Compare all other models with this one, and not with each other.
        group: Let one run stand for all runs of a model: the one that dev would have chosen, or
            without dev predictions the median one. Each metric would choose a run of its own, so
            that only one can be asked for.
        level: The level of significance; intervals are of one minus it.
        margin: A difference that would matter: test also whether models differ by less.

    Raises:
        DataError: If there is nothing to compare, or files are of different data. A task whose
            data cannot be had here is named by a logged warning and left out.
        UndefinedMetricError: If a model's correlation is undefined.
    """
    metrics = [metric] if isinstance(metric, str) else list(dict.fromkeys(metric))
    if group and len(metrics) > 1:
        raise DataError("runs are grouped by one metric: give one, or do not group.")
    folder = ResultsFolder.of(folders)
    found = find_runs(folder, names)
    if baseline is not None:
        _check_baseline(baseline, found)
    results = _Results(level, margin)
    for name, files in found.items():
        try:
            sets = load_cells(folder, name, files)
        except (DataNotProvidedError, OfflineError) as error:
            logger.warning("%s is skipped: %s", name, error)
            continue
        results.remarks |= dict.fromkeys(sets.left_out)
        for wanted in metrics or _MAIN:
            try:
                for split in _by_split(sets.cells, wanted, group=group):
                    results.add(split, baseline)
            except UndefinedMetricError:
                raise
            except ProtocolError as error:
                logger.warning("%s is skipped: %s", name, error)
    if not results.pairs:
        asked = ", ".join(metrics) or "the main scores"
        raise DataError(f"nothing to compare by {asked}; the warnings say why.")
    return results.frames()


def compare_cells(cells: Sequence[Cell]) -> Compared:
    """Compare the models of one task by its main score, all pairs.

    Args:
        cells: From :func:`mteb_ext.analysis.cells.load_cells`, of two models or more.

    Raises:
        DataError: If a file does not fit the data.
        UndefinedMetricError: If a model's correlation is undefined.
    """
    results = _Results(LEVEL, None)
    for split in _by_split(cells, None, group=False):
        results.add(split, None)
    return results.frames()


@dataclass(frozen=True)
class _TestSet:
    """Subsets that are compared together, and what their metric is computed from.

    Attributes:
        cells: One subset, or several whose mean is the score.
        measure: What is compared.
        rows: Each cell's ``(runs, n)`` scores of pairs, or values of queries.
        runs: The runs.
        whole: Whether these are all the subsets that were predicted in the split.
    """

    cells: Sequence[Cell]
    measure: Measure
    rows: Sequence[NDArray[np.float64]]
    runs: Sequence[str]
    whole: bool

    @property
    def of_pairs(self) -> bool:
        return isinstance(self.cells[0].gold, PairGold)

    @cached_property
    def values(self) -> NDArray[np.float64]:
        """(runs,) the scores."""
        parts = zip(self.cells, self.rows, strict=True)
        means: NDArray[np.float64] = np.mean([self._values_of(*part) for part in parts], axis=0)
        return means

    def _values_of(self, cell: Cell, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        if not isinstance(cell.gold, PairGold):
            return np.asarray(rows.mean(axis=1))
        correlate, values = COEFFICIENTS[self.measure.coefficient], []
        for run, scores in zip(self.runs, rows, strict=True):
            with cell.named(run):
                values.append(correlate(scores, cell.gold.of(self.measure)))
        return np.array(values)

    def compared(self, baseline: int | None, level: float) -> list[Comparison]:
        """The comparisons of all pairs, or of all runs with one."""
        if self.of_pairs:
            method = self.measure.coefficient
            return compare_correlations_of(self._subsets(), method, baseline=baseline, level=level)
        # Weighted so that each subset counts alike in the mean over all queries.
        n_all = sum(rows.shape[1] for rows in self.rows)
        weighted = [rows * (n_all / (len(self.rows) * rows.shape[1])) for rows in self.rows]
        return compare_means_of(np.concatenate(weighted, axis=1), baseline=baseline, level=level)

    def _subsets(self) -> list[tuple[NDArray[np.float64], list[NDArray[np.float64]]]]:
        """Gold and scores of each subset of pairs."""
        gold = [c.gold.of(self.measure) for c in self.cells if isinstance(c.gold, PairGold)]
        return list(zip(gold, map(list, self.rows), strict=True))

    def evidence(self, pairs: Sequence[PairRow]) -> Evidence:
        """What the ranks over tasks are computed from."""
        if self.of_pairs:
            influences = influences_of(self._subsets(), self.measure.coefficient)[1]
        else:
            influences = [
                (rows - rows.mean(axis=1, keepdims=True))
                / (len(self.rows) * np.sqrt(n * max(n - 1, 1)))
                for rows in self.rows
                for n in [rows.shape[1]]
            ]
        items = [item for cell in self.cells for item in cell.items(self.measure)]
        scores = TestSetScores(self.values, np.concatenate(influences, axis=1), items)
        facts = self.facts()
        judgements = "/".join(cell.judgements(self.measure) for cell in self.cells)
        return Evidence(facts.task, facts.split, self.runs, scores, judgements, pairs)

    def item_differences(self, pairs: pd.DataFrame) -> Iterator[pd.DataFrame]:
        """The rows of `pairs`, item by item; this must be a single subset."""
        import pandas as pd

        [cell], [values] = self.cells, self.rows
        if self.of_pairs:
            correlations, [moved] = influences_of(self._subsets(), self.measure.coefficient)
            n = moved.shape[1]
            values = correlations[:, np.newaxis] + moved * np.sqrt(n * (n - 1))
        ids, by_run = cell.ids(self.measure), dict(zip(self.runs, values, strict=True))
        for row in pairs.itertuples():
            first, second = by_run[row.first], by_run[row.second]
            of_row = {
                **{name: getattr(row, name) for name in ITEM_COLUMNS[:4]},
                **{"id": ids, "first": row.first, "second": row.second},
                **{"first_value": first, "second_value": second, "difference": first - second},
            }
            yield pd.DataFrame(of_row, columns=list(ITEM_COLUMNS))

    @property
    def test(self) -> str:
        """The name of the test that `compared` does."""
        return RESAMPLING if self.of_pairs else RANDOMISATION

    def of_runs(self, runs: Collection[str]) -> _TestSet:
        """The same of some of the runs."""
        kept = [i for i, run in enumerate(self.runs) if run in runs]
        rows = [array[kept] for array in self.rows]
        return replace(self, rows=rows, runs=[self.runs[i] for i in kept])

    def facts(self) -> TestSetRow:
        """The columns that name it."""
        first = self.cells[0]
        revision = str(first.task.metadata.revision)
        return TestSetRow(
            task=first.task.metadata.name,
            split=first.split,
            subset=first.subset if len(self.cells) == 1 else "",
            metric=str(self.measure),
            n=sum(rows.shape[1] for rows in self.rows),
            unit="pairs" if self.of_pairs else "queries",
            subsets=len(self.cells),
            all_subsets=len(subsets_of(first.task, first.split) or ()),
            whole=self.whole,
            headline=self.whole and self.measure == first.main,
            dataset_revision=revision,
            edition=edition(first.task, revision),
        )


@dataclass(frozen=True)
class _Split:
    """The test sets of one split, the headline's first, and the runs that stand for others."""

    sets: Sequence[_TestSet]
    models: Mapping[str, str]  # by run
    groups: Sequence[GroupRow] = ()


def _by_split(cells: Sequence[Cell], metric: str | None, *, group: bool) -> list[_Split]:
    wanted = cells[0].measure(metric) if metric else cells[0].main
    models = {run: file.model for run, file in cells[0].files.items()}
    splits = {}
    for split in dict.fromkeys(cell.split for cell in cells):
        parts = [cell for cell in cells if cell.split == split]
        rows = [cell.scores(wanted) for cell in parts]
        sets = [_TestSet(parts, wanted, rows, list(models), whole=True)]
        if len(parts) > 1:
            each = zip(parts, rows, strict=True)
            sets += [_TestSet([c], wanted, [r], list(models), whole=False) for c, r in each]
        splits[split] = _Split(sets, models)
    if not group:
        return list(splits.values())
    dev = next((splits.pop(split) for split in _DEV if split in splits and len(splits) > 1), None)
    return [_grouped(split, dev) for split in splits.values()]


def _grouped(split: _Split, dev: _Split | None) -> _Split:
    """One run for each model: the best on dev, or else the median one."""
    main = split.sets[0]
    values = dict(zip(main.runs, main.values, strict=True))
    dev_values = dict(zip(dev.sets[0].runs, dev.sets[0].values, strict=True)) if dev else {}
    groups = []
    for model in dict.fromkeys(split.models.values()):
        of_model = [run for run in main.runs if split.models[run] == model]
        runs = sorted(of_model, key=values.__getitem__)
        median = runs[(len(runs) - 1) // 2]
        chosen = max(of_model, key=dev_values.__getitem__) if dev_values else median
        of_runs = [values[run] for run in runs]
        facts = main.facts()
        groups.append(
            GroupRow(
                task=facts.task,
                split=facts.split,
                metric=facts.metric,
                model=model,
                runs=len(runs),
                mean=float(np.mean(of_runs)),
                sd=float(np.std(of_runs, ddof=1)) if len(runs) > 1 else np.nan,
                lowest=of_runs[0],
                highest=of_runs[-1],
                run=chosen,
                value=values[chosen],
                chosen_by="only run" if len(runs) == 1 else "dev" if dev else "median",
            )
        )
    standing = [row.run for row in groups]
    if len(standing) < 2:
        raise ProtocolError(f"all runs are of one model, {groups[0].model}.")
    return _Split([tests.of_runs(standing) for tests in split.sets], split.models, groups)


def _check_baseline(baseline: str, found: Mapping[str, Mapping[str, Predictions]]) -> None:
    known = sorted(
        {n for files in found.values() for run, f in files.items() for n in (run, f.model)}
    )
    if baseline not in known:
        hint = did_you_mean(baseline, known, cutoff=0.4) or f" There are {', '.join(known)}."
        raise DataError(f"no model {baseline!r} has predictions here.{hint}")


def _index(baseline: str, split: _Split) -> int:
    runs = split.sets[0].runs
    named = [i for i, run in enumerate(runs) if baseline in {run, split.models[run]}]
    exact = [i for i in named if runs[i] == baseline]
    if len(exact or named) > 1:
        raise DataError(
            f"{baseline} has several runs here; name one: {', '.join(runs[i] for i in named)}."
        )
    if not named:
        raise ProtocolError(f"the baseline {baseline} has no predictions of it.")
    return (exact or named)[0]


class _Results:
    """The rows of a comparison's frames, collected over test sets."""

    def __init__(self, level: float, margin: float | None) -> None:
        self.level = level
        self.margin = margin
        self.scores: list[ScoreRow] = []
        self.pairs: list[PairRow] = []
        self.groups: list[GroupRow] = []
        self.evidence: list[Evidence] = []
        self.sets: list[_TestSet] = []
        self.remarks: dict[str, None] = {}

    def add(self, split: _Split, baseline: str | None) -> None:
        """Compare the runs on every test set of a split."""
        index = None if baseline is None else _index(baseline, split)
        for tests in split.sets:
            self._add_test_set(tests, index)
        self.groups += split.groups

    def _add_test_set(self, tests: _TestSet, baseline: int | None) -> None:
        facts, values = tests.facts(), tests.values.tolist()
        try:
            compared = tests.compared(baseline, self.level)
        except UndefinedMetricError as error:  # of a single query, say
            where = f"{facts.task} ({facts.split}, {facts.subset or 'mean'})"
            logger.warning("%s is skipped: %s", where, error)
            return
        comparisons = [_oriented(c, values, baseline) for c in compared]
        self.scores += self._score_rows(tests, comparisons, baseline)
        pairs = self._pair_rows(tests, comparisons)
        self.pairs += pairs
        self.sets.append(tests)
        if baseline is None and facts.headline:
            self.evidence.append(tests.evidence(pairs))
        gold = tests.cells[0].gold
        if isinstance(gold, QueryGold) and gold.candidates is None:
            self.remarks[
                f"{facts.task}: its predictions hold the first {gold.depth:,} documents of a "
                "query; what a model ranks deeper counts as not found."
            ] = None

    def _score_rows(
        self, tests: _TestSet, comparisons: Sequence[Comparison], baseline: int | None
    ) -> list[ScoreRow]:
        facts, values, runs = vars(tests.facts()), tests.values.tolist(), tests.runs
        if baseline is not None:
            beside = [
                self._beside(values[i] - values[baseline], c)
                for i in range(len(runs))
                for c in [next((c for c in comparisons if c.first == i), None)]
            ]
            return [
                ScoreRow(
                    **facts,
                    run=run,
                    value=value,
                    letters="",
                    best=False,
                    not_worse=None,
                    rank_low=None,
                    rank_high=None,
                    beside_baseline=mark,
                )
                for run, value, mark in zip(runs, values, beside, strict=True)
            ]
        marks = letters(values, runs, comparisons, level=self.level)
        sets = rank_sets(len(runs), comparisons, level=self.level)
        best = int(np.argmax(values))
        worse = {c.second for c in comparisons if c.first == best and c.p_adjusted <= self.level}
        return [
            ScoreRow(
                **facts,
                run=run,
                value=values[i],
                letters=marks[i],
                best=i == best and len(worse) == len(runs) - 1,
                not_worse=i not in worse,
                rank_low=sets[i][0],
                rank_high=sets[i][1],
                beside_baseline="",
            )
            for i, run in enumerate(runs)
        ]

    def _beside(self, difference: float, comparison: Comparison | None) -> str:
        if comparison is None:
            return "baseline"
        if comparison.p_adjusted > self.level:
            return "same"
        return "better" if difference > 0 else "worse"

    def _pair_rows(self, tests: _TestSet, comparisons: Sequence[Comparison]) -> list[PairRow]:
        facts, values, runs = vars(tests.facts()), tests.values.tolist(), tests.runs
        margin = self.margin
        equivalent = None if margin is None else [equivalence_p(c, margin) for c in comparisons]
        corrected = None if equivalent is None else holm(equivalent)
        return [
            PairRow(
                **facts,
                first=runs[c.first],
                second=runs[c.second],
                first_value=values[c.first],
                second_value=values[c.second],
                difference=c.difference,
                low=c.low,
                high=c.high,
                wins=c.wins,
                ties=c.ties,
                losses=c.losses,
                differing=c.differing,
                sparse=c.sparse,
                test=tests.test,
                p=c.p,
                p_adjusted=c.p_adjusted,
                significant=c.p_adjusted <= self.level,
                resolvable=c.resolvable,
                resolvable_adjusted=c.resolvable_adjusted,
                p_williams=c.p_williams,
                p_equivalent=None if equivalent is None else equivalent[k],
                equivalent=None if corrected is None else bool(corrected[k] <= self.level),
            )
            for k, c in enumerate(comparisons)
        ]

    def frames(self) -> Compared:
        """The frames."""
        scores = frame(self.scores, ScoreRow)
        order = scores.groupby(["task", "split", "subset", "metric"], sort=False).ngroup()
        scores = scores.assign(order=order).sort_values(
            ["order", "value", "run"], ascending=[True, False, True], ignore_index=True
        )
        evidence = in_benchmark_order(self.evidence)
        several = len(evidence) > 1
        return Compared(
            scores.drop(columns="order"),
            frame(self.pairs, PairRow),
            published_beside(scores),
            frame(self.groups, GroupRow),
            list(self.remarks),
            frame(rank_runs(evidence, level=self.level) if several else [], RankRow),
            frame(records(evidence, level=self.level) if several else [], RecordRow),
            evidence,
            self.level,
            self.sets,
        )


def _oriented(c: Comparison, values: Sequence[float], baseline: int | None) -> Comparison:
    """The better model first, or the one that is not the baseline."""
    kept = values[c.first] >= values[c.second] if baseline is None else c.second == baseline
    if kept:
        return c
    return replace(
        c,
        first=c.second,
        second=c.first,
        difference=-c.difference,
        low=-c.high,
        high=-c.low,
        wins=c.losses,
        losses=c.wins,
    )
