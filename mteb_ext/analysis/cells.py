"""All runs' predictions of one subset beside its gold: what comparisons are computed from."""

from __future__ import annotations

import logging
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from mteb.abstasks.retrieval import AbsTaskRetrieval
from mteb.abstasks.sts import AbsTaskSTS

from mteb_ext.analysis.editions import known_task
from mteb_ext.analysis.gold import TYPES, PairGold, QueryGold, load_gold
from mteb_ext.analysis.predictions import Predictions, find_predictions
from mteb_ext.analysis.summary import label_runs
from mteb_ext.bases import PaperTask
from mteb_ext.bases.candidates import RankedLists
from mteb_ext.errors import DataError, MtebExtError, OfflineError
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
        return np.array([self._scores(run, measure) for run in self.files])

    def _scores(self, run: str, measure: Measure) -> NDArray[np.float64]:
        with self.named(run):
            if isinstance(self.gold, PairGold):
                return self.gold.similarities(self._predicted(run), measure)
            return self.gold.lists(self._predicted(run)).values(measure)

    def lists(self, run: str) -> RankedLists:
        """A run's scores of every query's documents.

        Raises:
            DataError: If its file does not fit the gold, or the task ranks nothing.
        """
        with self.named(run):
            if isinstance(self.gold, PairGold):
                raise DataError(f"{self.task.metadata.name} is not a ranking task.")
            return self.gold.lists(self._predicted(run))

    def items(self, measure: Measure) -> list[str]:
        """What each pair or query that a measure is over is, by content.

        Two texts are the same item in either order. Where the data has no texts, an item is its
        place in this subset.
        """
        names = self.ids(measure)
        dataset: Any = self.task.dataset
        data = dataset.get(self.subset, dataset)[self.split]
        if isinstance(self.task, AbsTaskSTS):
            columns = [data[name][:] for name in self.task.column_names]
            pairs = zip(*columns, strict=True)
            texts = [" | ".join(sorted(map(_normal, pair))) for pair in pairs]
            return [texts[int(name)] for name in names]
        queries = data.get("queries")
        if queries is None:
            return [f"{self.task.metadata.name} {self.subset} {name}" for name in names]
        by_id = dict(zip(queries["id"][:], map(str, queries["text"][:]), strict=True))
        return [_normal(by_id[name]) for name in names]

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
    folders: str | Path | Sequence[str | Path],
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
    folders = [folders] if isinstance(folders, (str, Path)) else folders
    names = [names] if isinstance(names, str) else names
    where = ", ".join(map(str, folders))
    files = find_predictions(*folders)
    if not files:
        raise DataError(
            f"{where}: no prediction files here. 'mteb run' and 'mteb-ext run' write them into "
            "their --prediction-folder, one folder a model."
        )
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


def load_cells(name: str, files: Mapping[str, Predictions]) -> list[Cell]:
    """Load a task's data and lay predictions beside it.

    Args:
        name: The task.
        files: A file a run.

    Returns:
        A cell a split and subset. A split that a run lacks is named by a logged warning and left
        out.

    Raises:
        DataError: If the runs have different subsets, were made on different editions of the
            data, or on another than the one here; if a file is not the one that its stamp names;
            or if the data cannot be loaded.
    """
    for file in files.values():
        file.check_stamp()
    layout = _common_layout(name, files)
    revision = _common_revision(name, files)
    subsets = {subset for in_split in layout.values() for subset in in_split}
    task = find_task(name, eval_splits=list(layout), hf_subsets=list(subsets))
    load_data(task)
    if isinstance(task, PaperTask) and revision != task.metadata.revision:
        raise DataError(
            f"{name}: {next(iter(files.values())).path} holds predictions on the dataset revision "
            f"{revision}, and the data here is {task.metadata.revision}. Run the models on it."
        )
    return [
        Cell(task, split, subset, load_gold(task, split, subset), files)
        for split, in_split in layout.items()
        for subset in in_split
    ]


def load_data(task: AbsTask) -> None:
    """Load a task's data, in the form that gold is taken from.

    Raises:
        DataError: If it cannot be loaded, for whatever reason.
    """
    try:
        task.load_data()
        if isinstance(task, AbsTaskRetrieval):
            task.convert_v1_dataset_format_to_v2(num_proc=None)
    except MtebExtError:
        raise
    except Exception as error:  # of whatever loads the data of mteb's tasks
        raise OfflineError(
            f"{task.metadata.name}: its data cannot be loaded ({type(error).__name__}: {error})."
        ) from error


def _common_layout(name: str, files: Mapping[str, Predictions]) -> dict[str, list[str]]:
    """The subsets by split, in the order of the first file."""
    layouts = {run: _layout(file) for run, file in files.items()}
    first, *others = layouts
    common = {}
    for split, subsets in layouts[first].items():
        lacking = [run for run in others if split not in layouts[run]]
        if lacking:
            logger.warning(
                "%s (%s) is skipped: no predictions of it by %s.", name, split, lacking[0]
            )
            continue
        for run in others:
            if set(layouts[run][split]) != set(subsets):
                raise DataError(
                    f"{name} ({split}): {files[first].path} holds the subsets "
                    f"{', '.join(subsets)}, and {files[run].path} {', '.join(layouts[run][split])}."
                )
        common[split] = subsets
    if not common:
        raise DataError(f"{name}: no split has predictions of every model.")
    return common


def _layout(file: Predictions) -> dict[str, list[str]]:
    layout: dict[str, list[str]] = {}
    for subset, by_split in file.scores.items():
        for split in by_split:
            layout.setdefault(split, []).append(subset)
    return layout


def _common_revision(name: str, files: Mapping[str, Predictions]) -> str | None:
    """The dataset revision of all files; None for those of mteb's own tasks, which name none."""
    first, *others = files.values()
    for file in others:
        if file.dataset_revision != first.dataset_revision:
            raise DataError(
                f"{name}: {first.path} holds predictions on the dataset revision "
                f"{first.dataset_revision}, and {file.path} on {file.dataset_revision}. Scores of "
                "different data are not compared; run one of the models again."
            )
    return first.dataset_revision
