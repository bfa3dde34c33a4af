"""All that the report page shows, from the result and prediction files of any number of folders."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from mteb.abstasks.sts import AbsTaskSTS

from mteb_ext.analysis.beside import published_beside
from mteb_ext.analysis.cells import Cell, find_runs, load_cells
from mteb_ext.analysis.comparing import Compared, compare_cells
from mteb_ext.analysis.editions import measure_in, task_if_known
from mteb_ext.analysis.folder import Folders, ResultsFolder
from mteb_ext.analysis.gold import PairGold
from mteb_ext.analysis.rows import TieRow, frame
from mteb_ext.analysis.seen import SeenBy, seen_in
from mteb_ext.analysis.summary import headlines, label_runs, over_models
from mteb_ext.analysis.ties import ties_of
from mteb_ext.analysis.wrong import Wrong, wrong_in
from mteb_ext.bases.sts import COEFFICIENTS
from mteb_ext.errors import DataError, MtebExtError
from mteb_ext.measures import Measure

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

logger = logging.getLogger(__name__)

WITHIN = 1.0  # points of the rating scale, as in section 7 of the SemEval-2017 paper
DIFFERING = 10  # queries shown of a test set
WRONG = 5  # pairs or queries of each model on a task
BINS = 20  # of a distribution over queries
_ROUNDING = 1e-5  # of numbers in result files

_CELL = ("task", "split", "subset")
PUBLISHED_COLUMNS = (
    *("task", "metric", "variant", "system", "value", "decimals", "ambiguous", "source"),
)
BREAKDOWN_COLUMNS = (
    *("task", "split", "dataset_revision", "part", "metric", "run", "value", "low", "high", "n"),
)
RESCALED_COLUMNS = (*_CELL, "run", "n", "smallest", "largest", "bottom", "top", "within")
DISTRIBUTION_COLUMNS = (*_CELL, "metric", "run", "low", "high", "queries", "of", "mean")
DIFFERING_COLUMNS = (*_CELL, "metric", "query", "text", "run", "value", "spread")


@dataclass(frozen=True)
class Scatter:
    """Gold and scores of the pairs of one subset.

    Attributes:
        task: The task.
        split: The split.
        subset: The subset.
        gold: ``(n,)`` gold scores.
        scores: ``(n,)`` scores of the pairs, by run.
        texts: ``(n,)`` the pairs' texts where they are wanted and may be shown.
    """

    task: str
    split: str
    subset: str
    gold: NDArray[np.float64]
    scores: Mapping[str, NDArray[np.float64]]
    texts: Sequence[str] = ()


@dataclass(frozen=True)
class PageData:
    """What the page shows.

    Attributes:
        headlines: A row a run, task and split, from :func:`mteb_ext.analysis.summary.over_models`.
        published: `PUBLISHED_COLUMNS`: published numbers of the variants that the headlines follow.
        breakdown: `BREAKDOWN_COLUMNS`: main scores by subset, or by genre or named part.
        compared: The comparison of the models, by task, where prediction files are there.
        scatters: The pairs of STS tasks.
        rescaled: `RESCALED_COLUMNS`: the share of pairs ``within`` `WITHIN` of gold, once scores
            are rescaled linearly to the rating scale.
        distribution: `DISTRIBUTION_COLUMNS`: how many ``queries`` score from ``low`` to ``high``.
        ties: As :func:`mteb_ext.analysis.ties.tie_ranges`.
        differing: `DIFFERING_COLUMNS`: the queries on which runs differ most, the widest first.
        remarks: What is left out, and why.
        seen: What ``leaks.json`` files in the folders say of training data.
        wrong: What the runs get wrong, by task; empty where it was not asked for.
    """

    headlines: pd.DataFrame
    published: pd.DataFrame
    breakdown: pd.DataFrame
    compared: Mapping[str, Compared]
    scatters: Sequence[Scatter]
    rescaled: pd.DataFrame
    distribution: pd.DataFrame
    ties: pd.DataFrame
    differing: pd.DataFrame
    remarks: Sequence[str]
    seen: Sequence[SeenBy]
    wrong: Mapping[str, Wrong]


def page_data(
    results: pd.DataFrame,
    folders: Folders,
    *,
    texts: bool = False,
    left_out: Collection[tuple[str, str, str]] = (),
    wrong: int = WRONG,
) -> PageData:
    """Compute all that the page shows.

    Args:
        results: From :func:`mteb_ext.analysis.load_results`, not empty.
        folders: Where prediction files may be. What needs them is left out where they are missing,
            damaged, or of other data, and the remarks say so.
        texts: Take the texts of pairs and queries along. Those of a task that is not public never
            are.
        left_out: Model, revision and task of prediction files that nothing is to be made from.
        wrong: How many pairs or queries of a task to take that each run gets most wrong.

    Raises:
        DataError: If a folder does not exist.
    """
    import pandas as pd

    ranked = over_models(headlines(results))
    parts = _FromPredictions(_values(results), texts, left_out, wrong)
    folder = ResultsFolder.of(folders)
    parts.add_all(folder)
    return PageData(
        ranked,
        _published(ranked),
        _breakdown(results),
        parts.compared,
        parts.scatters,
        pd.DataFrame(parts.rescaled, columns=list(RESCALED_COLUMNS)),
        pd.DataFrame(parts.distribution, columns=list(DISTRIBUTION_COLUMNS)),
        frame(parts.ties, TieRow),
        pd.DataFrame(parts.differing, columns=list(DIFFERING_COLUMNS)),
        parts.remarks,
        seen_in(folder),
        parts.wrong,
    )


def _published(ranked: pd.DataFrame) -> pd.DataFrame:
    """Published numbers of the same variant as a headline, under the headline's key."""
    found = published_beside(ranked)
    order = ["task", "metric", "ambiguous", "value", "system"]
    return found[list(PUBLISHED_COLUMNS)].sort_values(
        order, ascending=[True, True, True, False, True], ignore_index=True
    )


def _breakdown(results: pd.DataFrame) -> pd.DataFrame:
    """The main score of every subset, of tasks that have several, and of every part of the pairs.

    A part's key is the main score's name and the part's: ``pearson_main-news``.
    """
    import pandas as pd

    labelled = results.assign(run=label_runs(results))
    rows = []
    for (path, split), result in labelled.groupby(["path", "split"], sort=False):
        del path
        main = result.loc[result["headline"], "metric"].iloc[0]
        several = (result["subset"] == "").any()
        task = task_if_known(result["task"].iloc[0])
        for row in result[result["subset"] != ""].itertuples():
            measure = measure_in(task, split, row.subset, row.metric)
            name = _part_of(measure, main)
            if not name and not (several and row.metric == main):
                continue
            part = ", ".join(filter(None, (row.subset if several else "", name)))
            facts = (row.task, split, row.dataset_revision, part, main, row.run)
            rows.append((*facts, row.value, row.low, row.high, row.n))
    return pd.DataFrame(rows, columns=list(BREAKDOWN_COLUMNS)).sort_values(
        ["task", "split", "dataset_revision", "part", "run"], ignore_index=True
    )


def _part_of(measure: Measure | None, main: str) -> str:
    """The part of the pairs that a main score is over; empty for all pairs and other measures."""
    if measure is None or not measure.is_correlation or str(replace(measure, part="")) != main:
        return ""
    return measure.part


def _values(results: pd.DataFrame) -> Mapping[tuple[str, ...], float]:
    """The values of the result files by run, task, split, subset and metric."""
    names = ["run", *_CELL, "metric"]
    labelled = results.assign(run=label_runs(results))
    values: dict[tuple[str, ...], float] = labelled.set_index(names)["value"].to_dict()
    return values


@dataclass
class _FromPredictions:
    """What prediction files give, collected over tasks."""

    values: Mapping[tuple[str, ...], float]
    texts: bool
    left_out: Collection[tuple[str, str, str]]
    n_wrong: int
    compared: dict[str, Compared] = field(default_factory=dict)
    scatters: list[Scatter] = field(default_factory=list)
    rescaled: list[tuple[Any, ...]] = field(default_factory=list)
    distribution: list[tuple[Any, ...]] = field(default_factory=list)
    ties: list[TieRow] = field(default_factory=list)
    differing: list[tuple[Any, ...]] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    wrong: dict[str, Wrong] = field(default_factory=dict)

    def add_all(self, folder: ResultsFolder) -> None:
        """Add every task that has prediction files."""
        try:
            found = find_runs(folder, fewest=1)
        except DataError as error:
            self._remark(f"What needs prediction files is left out. {error}")
            return
        for name, runs in found.items():
            files = {
                run: file
                for run, file in runs.items()
                if (file.model, file.revision, name) not in self.left_out
            }
            if not files:
                continue
            try:
                sets = load_cells(folder, name, files)
                self.remarks += [f"{name}: {reason}" for reason in sets.left_out]
                for cell in sets.cells:
                    self._add(cell)
                if len(sets.cells[0].files) > 1:
                    self.compared[name] = compare_cells(sets.cells)
                if self.n_wrong:
                    self.wrong[name] = wrong_in(sets.cells, shown=self.n_wrong, texts=self.texts)
            except MtebExtError as error:
                self._remark(f"{name}: something that needs its predictions is left out. {error}")

    def _remark(self, text: str) -> None:
        logger.warning("%s", text)
        self.remarks.append(text)

    def _add(self, cell: Cell) -> None:
        main = cell.main
        where = (cell.task.metadata.name, cell.split, cell.subset)
        with_texts = self.texts and bool(cell.task.metadata.is_public)
        rows = dict(zip(cell.files, cell.scores(main), strict=True))
        if isinstance(cell.gold, PairGold):
            gold = cell.gold.score
            correlate = COEFFICIENTS[main.coefficient]
            values = {run: correlate(scores, gold) for run, scores in rows.items()}  # if any varies
            pair_texts = [" | ".join(pair) for pair in cell.pair_texts()] if with_texts else ()
            self.scatters.append(Scatter(*where, gold, rows, pair_texts))
            self.rescaled += _rescaled(cell, gold, rows)
        else:
            self.distribution += _distribution(cell, main, rows)
            self.ties += ties_of(cell)
            texts = cell.query_texts() if with_texts else {}
            self.differing += _differing(cell, main, rows, texts)
            values = {run: float(scores.mean()) for run, scores in rows.items()}
        for run, value in values.items():
            held = self.values.get((run, *where, str(main)), value)
            if abs(held - value) > _ROUNDING:
                self._remark(
                    f"{', '.join(where)}: the predictions of {run} give {value:.6f}, and its "
                    f"result file holds {held:.6f}. They are of different runs."
                )


def _rescaled(
    cell: Cell, gold: NDArray[np.float64], rows: Mapping[str, NDArray[np.float64]]
) -> Iterator[tuple[Any, ...]]:
    """Footnote 20 of the SemEval-2017 paper, on the task's rating scale.

    Gold that does not lie on it, such as standardised judgements, has no such scale.
    """
    assert isinstance(cell.task, AbsTaskSTS)
    bottom, top = float(cell.task.min_score), float(cell.task.max_score)
    if gold.min() < bottom or gold.max() > top:
        return
    for run, scores in rows.items():
        within = float((np.abs(rescale(scores, bottom, top) - gold) <= WITHIN).mean())
        where = (cell.task.metadata.name, cell.split, cell.subset, run)
        yield (*where, gold.size, float(scores.min()), float(scores.max()), bottom, top, within)


def rescale(scores: NDArray[np.float64], bottom: float, top: float) -> NDArray[np.float64]:
    """Bring scores linearly to a rating scale, the smallest to its bottom.

    Footnote 20 of Cer et al. (SemEval-2017 Task 1), for the scale from 0 to 5.

    Args:
        scores: ``(n,)`` scores that are not all equal.
        bottom: The scale's lowest rating.
        top: Its highest.
    """
    return bottom + (top - bottom) * shares(scores)


def shares(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Where values lie between the smallest, 0, and the largest, 1; all 0 where they are equal."""
    if not values.any():
        return values
    values = np.ldexp(values, -np.frexp(np.abs(values).max())[1])  # no difference can overflow
    found: NDArray[np.float64] = (values - values.min()) / (np.ptp(values) or 1.0)
    return found


def _distribution(
    cell: Cell, measure: Measure, rows: Mapping[str, NDArray[np.float64]]
) -> Iterator[tuple[Any, ...]]:
    for run, values in rows.items():
        counts, edges = np.histogram(values, bins=BINS, range=(0.0, 1.0))
        where = (cell.task.metadata.name, cell.split, cell.subset, str(measure), run)
        for low, high, count in zip(edges, edges[1:], counts, strict=False):
            mean = float(values.mean())
            yield (*where, float(low), float(high), int(count), values.size, mean)


def _differing(
    cell: Cell,
    measure: Measure,
    rows: Mapping[str, NDArray[np.float64]],
    texts: Mapping[str, str],
) -> Iterator[tuple[Any, ...]]:
    if len(rows) < 2:
        return
    table = np.array(list(rows.values()))
    spread = table.max(axis=0) - table.min(axis=0)
    queries = cell.lists(next(iter(rows))).queries(measure)
    for i in np.argsort(-spread, kind="stable")[:DIFFERING].tolist():
        if spread[i] == 0:
            return
        where = (cell.task.metadata.name, cell.split, cell.subset, str(measure))
        for run, values in rows.items():
            named = (queries[i], texts.get(queries[i], ""), run)
            yield (*where, *named, float(values[i]), float(spread[i]))
