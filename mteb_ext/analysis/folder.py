"""A results folder as it is read: each file once, each task's data once."""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

from mteb_ext.analysis.editions import known_task
from mteb_ext.analysis.gold import PairGold, QueryGold, load_data, load_gold
from mteb_ext.errors import DataError, MtebExtError
from mteb_ext.files import sha256_of
from mteb_ext.formats.identity import Identity
from mteb_ext.formats.layout import (
    LARGEST,
    LARGEST_PREDICTIONS,
    MODEL_META,
    PREDICTIONS,
    STAMP,
    Place,
    predictions_of_result,
    stamp_of_predictions,
)
from mteb_ext.formats.leaks import ENDING as LEAKS
from mteb_ext.formats.leaks import Leaks, read_leaks
from mteb_ext.formats.predictions import Predictions, predictions_in
from mteb_ext.formats.stamp import Stamp, read_stamp
from mteb_ext.formats.walk import files_below
from mteb_ext.json_files import decode_json, read_content
from mteb_ext.plugin.lookup import find_task

if TYPE_CHECKING:
    from mteb.abstasks import AbsTask

logger = logging.getLogger(__name__)

T = TypeVar("T")


class ResultsFolder:
    """The files below folders of results, and the data of their tasks.

    Everything that one command computes from the same folders shares one of these. What was read
    stays in memory as long as it lives; nothing is looked at twice, and nothing is written.

    Attributes:
        folders: The folders, as they were named.
        paths: The files below them, sorted.
        unreadable: Files and folders that cannot be read, pipes and devices too, each with the
            reason.
    """

    def __init__(self, *folders: str | Path) -> None:
        """Look for files; none is opened.

        Raises:
            DataError: If a folder does not exist.
        """
        self.folders = folders
        self.unreadable: list[tuple[Path, OSError]] = []
        self.paths = files_below(*folders, unreadable=lambda *found: self.unreadable.append(found))
        self._held: dict[Hashable, Any] = {}
        self._sha256: dict[Path, str] = {}

    @classmethod
    def of(cls, folders: Folders) -> ResultsFolder:
        """The object itself, or one of the folders that are named.

        Raises:
            DataError: If a folder does not exist.
        """
        if isinstance(folders, ResultsFolder):
            return folders
        return cls(*(folders if isinstance(folders, (list, tuple)) else [folders]))

    @property
    def names(self) -> str:
        """The folders' names, for messages."""
        return ", ".join(map(str, self.folders))

    def result_paths(self) -> list[Path]:
        """The JSON files that may be results."""
        return [
            path
            for path in self.paths
            if path.name.endswith(".json")
            and path.name != MODEL_META
            and not path.name.endswith((PREDICTIONS, LEAKS))
        ]

    def leaks_paths(self) -> list[Path]:
        """The files that ``mteb-ext leak`` has written."""
        return [path for path in self.paths if path.name.endswith(LEAKS)]

    def leaks(self, path: Path) -> Leaks:
        """A file that ``mteb-ext leak`` has written.

        Raises:
            DataError: If it is damaged, or was edited.
        """
        return self._once(("leaks", path), lambda: read_leaks(path))

    def prediction_paths(self) -> list[Path]:
        """The prediction files: those below the folders, and those of the results below them.

        The latter are elsewhere where only the ``results`` in an output folder was named.
        """
        below = [path for path in self.paths if path.name.endswith(PREDICTIONS)]
        known = set(map(os.path.realpath, below))
        usual = dict.fromkeys(map(predictions_of_result, self.result_paths()))
        beside = [p for p in usual if p.is_file() and os.path.realpath(p) not in known]
        return sorted([*below, *beside])

    def json(self, path: Path) -> Any:  # noqa: ANN401 - whatever it holds
        """The content of a JSON file that anyone may have written. Every number is a float.

        Raises:
            DataError: If the file cannot be read, is larger than a result can be, or is not JSON.
        """
        return self._once(("json", path), lambda: self._json(path))

    def _json(self, path: Path) -> Any:  # noqa: ANN401
        try:
            return decode_json(self._content(path, LARGEST), parse_int=float)
        except DataError as error:
            raise DataError(
                f"{error} A run that was killed may have left it so; remove it and run again."
            ) from error

    def metadata(self, path: Path) -> Mapping[str, Any]:
        """The content of a ``model_meta.json``.

        Raises:
            DataError: If the file is damaged.
        """
        meta = self.json(path)
        if not isinstance(meta, dict):
            raise DataError("the file holds no metadata.")
        return meta

    def identity(self, folder: Path) -> Identity:
        """The model of a folder of results: by its ``model_meta.json``, else by folder names.

        A damaged file is named by a logged warning.
        """
        return self._once(("identity", folder), lambda: self._identity(folder))

    def _identity(self, folder: Path) -> Identity:
        path = folder / MODEL_META
        meta: Mapping[str, Any] = {}
        if path.exists():
            try:
                meta = self.metadata(path)
            except DataError as error:
                logger.warning("%s is left out, and its folders' names are taken: %s", path, error)
        return Identity.of(folder, meta)

    def stamp(self, path: Path) -> Stamp:
        """A stamp.

        Raises:
            DataError: If the file is missing or damaged.
        """
        return self._once(("stamp", path), lambda: read_stamp(path))

    def predictions(self, path: Path) -> Predictions:
        """A prediction file.

        Raises:
            DataError: If the file is damaged.
        """
        return self._once(
            ("predictions", path),
            lambda: predictions_in(path, lambda: self._content(path, LARGEST_PREDICTIONS)),
        )

    def all_predictions(self) -> list[Predictions]:
        """Every prediction file. A damaged one is named by a logged warning and left out."""
        return self._once("all predictions", self._all_predictions)

    def _all_predictions(self) -> list[Predictions]:
        found = []
        for path in self.prediction_paths():
            try:
                found.append(self.predictions(path))
            except DataError as error:
                logger.warning("%s is left out: %s", path, error)
        return found

    def stamp_of(self, predictions: Predictions) -> Path | None:
        """Where the stamp of a prediction file is; None if there is none."""
        usual = stamp_of_predictions(predictions.path)  # --prediction-folder may say otherwise
        if usual.exists():
            return usual
        stamps = self._once("stamps", self._stamps_by_place)
        return stamps.get((Place.of(predictions.path), predictions.task))

    def _stamps_by_place(self) -> Mapping[tuple[Place, str], Path]:
        return {(Place.of(path), path.stem): path for path in self.paths if path.suffix == STAMP}

    def check_stamp(self, predictions: Predictions) -> None:
        """See that a prediction file is the one that the run left behind.

        Raises:
            DataError: If its sha256 is not the one that the stamp names, or the stamp is damaged.
        """
        stamp = self.stamp_of(predictions)
        if stamp and self.stamp(stamp).predictions_sha256 not in {
            None,
            self.sha256(predictions.path),
        }:
            raise DataError(
                f"{predictions.path} was changed after the run, or belongs to another one: its "
                f"sha256 is not the one in {stamp.name}. Run the cell again with "
                "--overwrite-strategy always; 'mteb-ext verify' says what else differs."
            )

    def sha256(self, path: Path) -> str:
        """The sha256 of a file.

        Raises:
            DataError: If the file cannot be read.
        """
        if path not in self._sha256:
            try:
                self._sha256[path] = sha256_of(path)
            except OSError as error:
                raise DataError(f"{path} cannot be read ({error.strerror}).") from error
        return self._sha256[path]

    def task(self, name: str) -> AbsTask | None:
        """The task of a name. None, and a logged warning, if mteb does not know it here."""
        return self._once(("task", name), lambda: known_task(name))

    def data(self, name: str, split: str, subsets: Sequence[str] | None = None) -> AbsTask:
        """A task with the data of a split.

        Args:
            name: The task's name.
            split: The split.
            subsets: Only these, for tasks whose data is large; all of them by default.

        Raises:
            MtebExtError: If the data cannot be loaded.
        """
        chosen = None if subsets is None else tuple(sorted(subsets))
        return self._once(("data", name, split, chosen), lambda: _loaded(name, split, chosen))

    def gold(self, task: AbsTask, split: str, subset: str) -> PairGold | QueryGold:
        """The gold of a subset.

        Args:
            task: A task from :meth:`data`.
            split: The split.
            subset: The subset.

        Raises:
            DataError: If the data has no such split or subset.
        """
        key = ("gold", task.metadata.name, split, subset)
        return self._once(key, lambda: load_gold(task, split, subset))

    def _content(self, path: Path, largest: float) -> bytes:
        content = read_content(path, largest)
        self._sha256[path] = hashlib.sha256(content).hexdigest()
        return content

    def _once(self, key: Hashable, make: Callable[[], T]) -> T:
        """What ``make`` returns, or the error of the package that it raises, each time."""
        if key not in self._held:
            try:
                self._held[key] = make()
            except MtebExtError as error:
                self._held[key] = error
        found = self._held[key]
        if isinstance(found, MtebExtError):
            raise found
        return cast("T", found)


Folders: TypeAlias = str | Path | Sequence[str | Path] | ResultsFolder
"""A folder, several, or what was read of them."""


def _loaded(name: str, split: str, subsets: tuple[str, ...] | None) -> AbsTask:
    options: dict[str, Any] = {"hf_subsets": list(subsets)} if subsets else {}
    task = find_task(name, eval_splits=[split], **options)
    load_data(task)
    return task
