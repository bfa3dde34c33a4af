"""The output folder of a run, in mteb's layout. Each cell is written whole or not at all.

::

    results/MODEL/REVISION/TASK.json              mteb's result file; there once the cell is done
    results/MODEL/REVISION/TASK.stamp             what made it, see formats/stamp.py
    predictions/MODEL/REVISION/TASK_predictions.json
    logs/MODEL/REVISION/TASK.log
    .running/                                     cells that are being run, and their locks

A cell runs in a folder of its own. Its files move into place when it is done, the result last. A
process holds the lock of its cell; the operating system releases it however the process ends.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mteb.results import TaskResult

from mteb_ext.analysis.reading import check_result
from mteb_ext.bases import PaperTask
from mteb_ext.errors import DataError, RunError, error_line
from mteb_ext.formats import stamp as stamps
from mteb_ext.formats.layout import PREDICTIONS, STAMP
from mteb_ext.formats.predictions import read_predictions

if TYPE_CHECKING:
    from mteb.abstasks import AbsTask
    from mteb.models import ModelMeta


@dataclass(frozen=True)
class Store:
    """Where the files of a run are.

    Attributes:
        folder: The output folder.
        prediction_folder: Where predictions go, if not into ``predictions`` in the output folder.
    """

    folder: Path
    prediction_folder: Path | None = None

    def result(self, meta: ModelMeta, task: str) -> Path:
        """The result file of mteb."""
        return self.folder / "results" / _place(meta) / f"{task}.json"

    def stamp(self, meta: ModelMeta, task: str) -> Path:
        """What made the result."""
        return self.result(meta, task).with_suffix(STAMP)

    def predictions(self, meta: ModelMeta, task: str) -> Path:
        """The prediction file of mteb."""
        return self._predictions / _place(meta) / f"{task}{PREDICTIONS}"

    def n_predicted(self, task: str) -> int:
        """How many runs of a task there are predictions of, this run's and others'."""
        return sum(1 for _ in self._predictions.rglob(f"{task}{PREDICTIONS}"))

    @property
    def _predictions(self) -> Path:
        return self.prediction_folder or self.folder / "predictions"

    def log(self, meta: ModelMeta, task: str) -> Path:
        """The log of the cell."""
        return self.folder / "logs" / _place(meta) / f"{task}.log"

    def check(self) -> None:
        """Make the output folder.

        Raises:
            RunError: If it cannot be written.
        """
        try:
            (self.folder / ".running").mkdir(parents=True, exist_ok=True)
            probe = self.folder / ".running" / f"probe-{os.getpid()}"
            probe.touch()
            probe.unlink()
        except OSError as error:
            raise RunError(
                f"the output folder {self.folder} cannot be written: {error.strerror or error}."
            ) from error

    def finished(self, meta: ModelMeta, task: AbsTask) -> TaskResult | None:
        """The result of a cell, if it is complete and on the task's data."""
        result = _read_result(self.result(meta, task.metadata.name))
        if result is None or result.get_missing_evaluations(task):
            return None
        return result if result.dataset_revision == _data_revision(task, result) else None

    def seconds(self, meta: ModelMeta, task: str) -> float:
        """How long a finished cell took, by its stamp; 0 where it has none."""
        try:
            return float(stamps.read_stamp(self.stamp(meta, task)).seconds)
        except (DataError, TypeError, ValueError):
            return 0.0

    @contextmanager
    def claim(self, meta: ModelMeta, task: str, *, wait: bool = False) -> Iterator[Path | None]:
        """Hold a cell while it is run.

        Args:
            meta: The model.
            task: The task.
            wait: Whether to wait for another process that holds it.

        Yields:
            An empty folder to run it in; None if another process holds the cell.
        """
        from filelock import FileLock, Timeout

        key = hashlib.sha256(str(_place(meta)).encode()).hexdigest()[:12]
        place = self.folder / ".running" / f"{task}-{key}"
        place.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(f"{place}.lock", timeout=-1 if wait else 0)
        try:
            lock.acquire()
        except Timeout:
            yield None
            return
        except (OSError, NotImplementedError) as error:
            raise RunError(
                f"{self.folder}: its file system does not lock files ({error_line(error)}). Name "
                "an --output-folder on a local disk, and copy the results afterwards."
            ) from error
        try:
            shutil.rmtree(place, ignore_errors=True)  # of a run that was killed
            place.mkdir()
            yield place
        finally:
            shutil.rmtree(place, ignore_errors=True)
            lock.release()

    def begin(self, place: Path, meta: ModelMeta, task: AbsTask) -> None:
        """Copy the stored scores of an unfinished cell; mteb then adds the missing ones.

        Scores on other data are left out. Tasks of this package are re-run whole when that
        reproduces everything stored, because some scores span subsets.
        """
        name, inside = task.metadata.name, Store(place)
        result = _read_result(self.result(meta, name))
        if result is None or result.dataset_revision != _data_revision(task, result):
            return
        if isinstance(task, PaperTask) and _is_made_again(result, task):
            return
        for mine, theirs in (
            (self.result(meta, name), inside.result(meta, name)),
            (self.predictions(meta, name), inside.predictions(meta, name)),
        ):
            if mine.exists():
                theirs.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(mine, theirs)

    def has_predictions(self, meta: ModelMeta, result: TaskResult) -> bool:
        """Whether the prediction file holds all splits and subsets that the result does."""
        try:
            held = read_predictions(self.predictions(meta, result.task_name))
        except DataError:
            return False
        return all(
            isinstance(by_split := held.get(score["hf_subset"]), dict) and split in by_split
            for split, scores in result.scores.items()
            for score in scores
        )

    def finish(self, place: Path, meta: ModelMeta, task: str) -> None:
        """Move the files of a cell into place, the result last."""
        inside = Store(place)
        beside = inside.result(meta, task).parent
        _append_run_settings(beside, self.result(meta, task).parent)
        for source, target in (
            (beside / "model_meta.json", self.result(meta, task).with_name("model_meta.json")),
            (inside.predictions(meta, task), self.predictions(meta, task)),
            (inside.stamp(meta, task), self.stamp(meta, task)),
            (inside.result(meta, task), self.result(meta, task)),
        ):
            if source.exists():
                _move(source, target)


def _place(meta: ModelMeta) -> Path:
    """Where mteb keeps a model's results, as ``ResultCache.get_task_result_path`` has it."""
    place = Path(meta.model_name_as_path()) / str(meta.revision)
    return place / "experiments" / meta.experiment_name if meta.experiment_name else place


def _read_result(path: Path) -> TaskResult | None:
    """A result; None if the file is missing or damaged, as a killed mteb leaves it."""
    if not path.exists():
        return None
    try:
        check_result(path)
        return TaskResult.from_disk(path)
    except (DataError, OSError, ValueError, KeyError, TypeError):
        return None


def _is_made_again(result: TaskResult, task: AbsTask) -> bool:
    """Whether running the task again would replace everything that a result holds."""
    return all(
        split in task.eval_splits and score["hf_subset"] in task.hf_subsets
        for split, scores in result.scores.items()
        for score in scores
    )


def _data_revision(task: AbsTask, result: TaskResult) -> str:
    """The revision of the data that the task would be evaluated on."""
    other = result.dataset_revision != task.metadata.revision
    if other and isinstance(task, PaperTask) and task.editions_differ:
        task.load_data()  # which edition this is shows in the files only
    return str(task.metadata.revision)


def _append_run_settings(source: Path, target: Path) -> None:
    """Append mteb's notes of a run. mteb reads the last line of each task, split and subset."""
    settings, held = source / "run_settings.jsonl", target / "run_settings.jsonl"
    if not settings.exists():
        return
    lines = settings.read_bytes()
    if held.exists() and held.read_bytes().endswith(lines):
        return  # of a run that was killed before the result was in place
    target.mkdir(parents=True, exist_ok=True)
    with held.open("ab") as file:
        file.write(lines)


def _move(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_name(f".{target.name}.{os.getpid()}")
    shutil.move(source, unfinished)  # copies where the other is another file system
    unfinished.replace(target)
