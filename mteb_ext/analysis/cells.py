"""All runs' predictions of one subset beside its gold: what comparisons are computed from."""

from __future__ import annotations

import logging
import shlex
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np
from mteb.abstasks.sts import AbsTaskSTS

from mteb_ext.analysis.editions import known_task, subsets_of
from mteb_ext.analysis.folder import Folders, ResultsFolder
from mteb_ext.analysis.gold import TYPES, PairGold, QueryGold
from mteb_ext.analysis.summary import label_runs
from mteb_ext.bases import PaperTask
from mteb_ext.bases.candidates import RankedLists
from mteb_ext.errors import DataError, MtebExtError
from mteb_ext.formats.layout import output_folder_of
from mteb_ext.formats.predictions import Predictions
from mteb_ext.measures import Measure
from mteb_ext.plugin.lookup import find_task

if TYPE_CHECKING:
    from mteb.abstasks import AbsTask
    from numpy.typing import NDArray

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Cell:
    """What several runs predicted of one subset.

    Attributes:
        task: The task.
        split: The split.
        subset: The subset.
        gold: What the predictions are scored against.
        files: Each run's prediction file.
    """

    task: AbsTask
    split: str
    subset: str
    gold: PairGold | QueryGold
    files: Mapping[str, Predictions]
    _lists: dict[str, RankedLists] = field(default_factory=dict, repr=False)

    @property
    def data(self) -> Any:  # noqa: ANN401 - what a task of mteb holds
        """The task's rows of this subset."""
        dataset: Any = self.task.dataset
        return dataset.get(self.subset, dataset)[self.split]

    @property
    def main(self) -> Measure:
        """The measure of the task's main score."""
        return self.measure(str(self.task.metadata.main_score))

    def measure(self, key: str) -> Measure:
        """The measure of a result key of the task.

        Raises:
            ProtocolError: If it is none.
        """
        named = self.gold.parts if isinstance(self.gold, PairGold) else self.gold.sets
        return Measure.parse(key, list(filter(None, named)))

    def scores(self, measure: Measure) -> NDArray[np.float64]:
        """What a measure is computed from.

        Returns:
            ``(runs, pairs)`` scores of the pairs, or ``(runs, queries)`` values of the measure.

        Raises:
            DataError: If a file does not fit the gold.
            ProtocolError: If the predictions allow no such measure.
        """
        return np.array([self.scores_of(run, measure) for run in self.files])

    def scores_of(self, run: str, measure: Measure) -> NDArray[np.float64]:
        """One run's row of :meth:`scores`."""
        with self.named(run):
            if isinstance(self.gold, PairGold):
                return self.gold.similarities(self._predicted(run), measure)
            return self.lists(run).values(measure)

    def lists(self, run: str) -> RankedLists:
        """A run's scores of every query's documents.

        Raises:
            DataError: If its file does not fit the gold, or the task ranks nothing.
        """
        with self.named(run):
            if isinstance(self.gold, PairGold):
                raise DataError(f"{self.task.metadata.name} is not a ranking task.")
            if run not in self._lists:
                self._lists[run] = self.gold.lists(self._predicted(run))
            return self._lists[run]

    def unfit(self, runs: Iterable[str]) -> dict[str, str]:
        """Why the files of runs do not fit the gold, by run."""
        faults = {}
        for run in runs:
            try:
                self.scores_of(run, self.main)
            except MtebExtError as error:
                faults[run] = str(error)
        return faults

    def items(self, measure: Measure) -> list[str]:
        """What each pair or query that a measure is over is, by content.

        Two texts are the same item in either order. Where the data has no texts, an item is its
        place in this subset.
        """
        names = self.ids(measure)
        if isinstance(self.task, AbsTaskSTS):
            texts = [" | ".join(sorted(map(_normal, pair))) for pair in self.pair_texts()]
            return [texts[int(name)] for name in names]
        if not (by_id := self.query_texts()):
            return [f"{self.task.metadata.name} {self.subset} {name}" for name in names]
        return [_normal(by_id[name]) for name in names]

    def pair_texts(self) -> list[tuple[str, str]]:
        """Both texts of every pair of a task of pairs."""
        assert isinstance(self.task, AbsTaskSTS)
        first, second = (map(str, self.data[name][:]) for name in self.task.column_names)
        return list(zip(first, second, strict=True))

    def query_texts(self) -> Mapping[str, str]:
        """Each query's text by its id; empty where the data has none."""
        return self._texts("queries")

    def document_texts(self) -> Mapping[str, str]:
        """Each document's text by its id; empty where the data has none."""
        return self._texts("corpus")

    def _texts(self, name: str) -> Mapping[str, str]:
        rows = self.data.get(name)
        return (
            {} if rows is None else dict(zip(rows["id"][:], map(str, rows["text"][:]), strict=True))
        )

    def ids(self, measure: Measure) -> list[str]:
        """The row number of each pair, or the id of each query, that a measure is over."""
        if isinstance(self.gold, PairGold):
            return [str(row) for row in np.flatnonzero(self.gold.here(measure))]
        return self.lists(next(iter(self.files))).queries(measure)

    def judgements(self, measure: Measure) -> str:
        """A digest of the gold, row by row, of what a measure is over."""
        if isinstance(self.gold, PairGold):
            return sha256(self.gold.of(measure).tobytes()).hexdigest()
        grades = [sorted(self.gold.qrels[name].values()) for name in self.ids(measure)]
        return sha256(repr(grades).encode()).hexdigest()

    def _predicted(self, run: str) -> object:
        return self.files[run].scores[self.subset][self.split]

    @contextmanager
    def named(self, run: str) -> Iterator[None]:
        """Put the subset and a run's file before the message of an error raised inside."""
        try:
            yield
        except MtebExtError as error:
            where = f"{self.task.metadata.name} ({self.split}, {self.subset})"
            raise type(error)(f"{where}: {self.files[run].path}: {error}") from error


def _normal(text: str) -> str:
    """A text without what does not make another item of it: case, white space, Unicode's forms."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def find_runs(
    folders: Folders,
    names: str | Sequence[str] = (),
    *,
    fewest: int = 2,
    types: Collection[str] = tuple(TYPES),
) -> dict[str, dict[str, Predictions]]:
    """The prediction files of tasks whose predictions can be scored again.

    What cannot is named by a logged warning: a task that mteb does not know here, one of another
    type, one of too few runs.

    Args:
        folders: Folders that hold prediction files at any depth.
        names: Tasks; all that are found if left out.
        fewest: How many runs a task needs: two to be compared.
        types: The types of task wanted.

    Returns:
        The file of each run, by task and by the run's name.

    Raises:
        DataError: If a folder or a named task does not exist, or nothing is left.
    """
    folder = ResultsFolder.of(folders)
    names = [names] if isinstance(names, str) else names
    where = folder.names
    files = folder.all_predictions()
    if not files:
        raise DataError(f"{where}: {_no_predictions(folder)}")
    by_task: dict[str, dict[str, Predictions]] = {}
    for run, file in zip(_names(files), files, strict=True):
        by_task.setdefault(file.task, {})[run] = file
    for name in names:
        find_task(name)
        if name not in by_task:
            raise DataError(f"{where}: no predictions of {name} here; of {', '.join(by_task)}.")
    found = {
        name: by_task[name]
        for name in names or by_task
        if _is_wanted(name, by_task[name], fewest, types)
    }
    if not found:
        counts = ", ".join(f"{name}: {len(runs)}" for name, runs in by_task.items())
        raise DataError(
            f"{where}: no task of the types {', '.join(types)} has predictions of {fewest} models "
            f"or more. Models by task: {counts}."
        )
    return found


def _no_predictions(folder: ResultsFolder) -> str:
    """What to do about a folder without prediction files: run again what has results there."""
    results = folder.result_paths()
    words = ["mteb-ext", "run"]
    if not results:
        words += ["-m", "MODEL", "-t", "TASK", "--output-folder", str(folder.folders[0])]
        return f"no prediction files here. This command keeps them: {shlex.join(words)}"
    words += ["-m", folder.identity(results[0].parent).name, "-t", results[0].stem]
    if output_folder := output_folder_of(results[0]):
        words += ["--output-folder", str(output_folder)]
    words += ["--overwrite-strategy", "always"]
    return (
        "no prediction files here, only results: their runs kept none. Run each model again, "
        f"which keeps them: {shlex.join(words)}"
    )


def _names(files: Sequence[Predictions]) -> list[str]:
    import pandas as pd

    columns = {"task": "task", "model": "model", "revision": "revision", "path": "path"}
    frame = pd.DataFrame({c: [str(getattr(file, c)) for file in files] for c in columns})
    return list(label_runs(frame.assign(split="", subset="", metric="")))


def _is_wanted(
    name: str, runs: Mapping[str, Predictions], fewest: int, types: Collection[str]
) -> bool:
    task = known_task(name)
    if task is None:
        return False
    kind = str(task.metadata.type)
    if kind not in types or not isinstance(task, TYPES[kind]):
        wanted = ", ".join(types)
        logger.warning("%s is skipped: its type is %s, and not %s.", name, kind, wanted)
    elif len(runs) < fewest:
        logger.warning("%s is skipped: one model only, %s.", name, next(iter(runs)))
    else:
        return True
    return False


@dataclass(frozen=True)
class TestSets:
    """A task's subsets with all predictions that fit them.

    Attributes:
        cells: One a split and subset.
        left_out: Why a run is left out, a sentence each.
    """

    cells: Sequence[Cell]
    left_out: Sequence[str]


def load_cells(folder: ResultsFolder, name: str, files: Mapping[str, Predictions]) -> TestSets:
    """Load a task's data and lay predictions beside it.

    A run whose file does not fit the data, is not the one of its stamp, or lacks subsets of the
    others is left out. So is a split that a run lacks. Both are named by logged warnings.

    Args:
        folder: What the files are from.
        name: The task.
        files: A file a run.

    Raises:
        DataError: If no run is left, or the data cannot be loaded.
    """
    left_out: dict[str, str] = {}
    for run, file in files.items():
        try:
            folder.check_stamp(file)
        except DataError as error:
            left_out[run] = str(error)
    known = folder.task(name)
    layout = _common_layout(known, _without(files, left_out), left_out)
    if not layout and len(left_out) < len(files):
        raise DataError(f"{name}: no split has predictions of every model.")
    cells = []
    for split, subsets in layout.items():
        task = folder.data(name, split, None if isinstance(known, PaperTask) else subsets)
        for run, file in _without(files, left_out).items():
            if fault := _other_data(task, file):
                left_out[run] = fault
        for subset in subsets:
            gold = folder.gold(task, split, subset)
            cells.append(Cell(task, split, subset, gold, files))
            left_out |= cells[-1].unfit(_without(files, left_out))
    for reason in left_out.values():
        logger.warning("%s is left out: %s", name, reason)
    fit = _without(files, left_out)
    if not fit:
        raise DataError(next(iter(left_out.values()), f"{name}: no split has predictions."))
    return TestSets([replace(cell, files=fit) for cell in cells], list(left_out.values()))


def _without(files: Mapping[str, Predictions], runs: Collection[str]) -> dict[str, Predictions]:
    return {run: file for run, file in files.items() if run not in runs}


def _other_data(task: AbsTask, file: Predictions) -> str | None:
    """Why predictions are of other data than there is here. Those of mteb's tasks do not say."""
    if not isinstance(task, PaperTask) or file.dataset_revision == task.metadata.revision:
        return None
    return (
        f"{file.path} holds predictions on the dataset revision {file.dataset_revision}, and the "
        f"data here is {task.metadata.revision}. Run the model on it."
    )


def _common_layout(
    task: AbsTask | None, files: Mapping[str, Predictions], left_out: dict[str, str]
) -> dict[str, list[str]]:
    """The subsets of the splits that all files have; files that lack some go to ``left_out``."""
    layouts = {run: _layout(file) for run, file in files.items()}
    common = {}
    name = next((file.task for file in files.values()), "")
    for split in dict.fromkeys(split for layout in layouts.values() for split in layout):
        lacking = [run for run, layout in layouts.items() if split not in layout]
        if lacking:
            logger.warning(
                "%s (%s) is skipped: no predictions of it by %s.", name, split, lacking[0]
            )
            continue
        there = set(subsets_of(task, split) or ())
        fit = [lay[split] for lay in layouts.values() if there.issuperset(lay[split])]
        common[split] = max(fit, key=len, default=[])
        for run, layout in layouts.items():
            if other := sorted(set(common[split]) ^ set(layout[split])):
                left_out[run] = (
                    f"{files[run].path} holds other subsets of {split} than the task or the other "
                    f"runs: {', '.join(other)}."
                )
    return common


def _layout(file: Predictions) -> dict[str, list[str]]:
    layout: dict[str, list[str]] = {}
    for subset, by_split in file.scores.items():
        for split in by_split:
            layout.setdefault(split, []).append(subset)
    return layout
