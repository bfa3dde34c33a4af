"""The prediction files of any number of folders: what models scored, and on which data.

They are mteb's own, with the dataset revision beside where the task is of this package.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mteb_ext.analysis.reading import files_below
from mteb_ext.errors import DataError
from mteb_ext.formats.layout import PREDICTIONS, STAMP, Place, stamp_of_predictions
from mteb_ext.formats.predictions import MODEL, OURS, dataset_revision, read_predictions
from mteb_ext.formats.stamp import file_sha256, read_stamp
from mteb_ext.json_files import storable

logger = logging.getLogger(__name__)

_NOT_SUBSETS = frozenset({MODEL, OURS})


@dataclass(frozen=True)
class PredictionFile:
    """What a prediction file says of itself.

    Attributes:
        path: The file.
        task: The task's name.
        model: The model's name.
        revision: Its revision.
        dataset_revision: Which data they were made on; None where the file does not say.
    """

    path: Path
    task: str
    model: str
    revision: str
    dataset_revision: str | None


@dataclass(frozen=True)
class Predictions(PredictionFile):
    """One model's scores of one task.

    Attributes:
        scores: mteb's predictions by subset and split.
        stamp: The stamp of the run that made them; None where there is none.
    """

    scores: Mapping[str, Mapping[str, Any]]
    stamp: Path | None = None

    def check_stamp(self) -> None:
        """See that the file is the one that the run left behind.

        Raises:
            DataError: If its sha256 is not the one that the stamp names, or the stamp is damaged.
        """
        if self.stamp is None:
            return
        stamped = read_stamp(self.stamp).predictions_sha256
        if stamped not in {None, file_sha256(self.path)}:
            raise DataError(
                f"{self.path} was changed after the run, or is of another one: its sha256 is not "
                f"the one that {self.stamp.name} names. Run the cell again with "
                "--overwrite-strategy always; 'mteb-ext verify' says what else differs."
            )


def find_predictions(*folders: str | Path) -> list[Predictions]:
    """Read every prediction file below folders, in the order of their paths.

    A file that is damaged, or none of mteb's, is named by a logged warning and left out.

    Raises:
        DataError: If a folder does not exist.
    """
    paths = files_below(*folders)
    stamps = {(Place.of(path), path.stem): path for path in paths if path.suffix == STAMP}
    found = []
    for path in paths:
        if path.name.endswith(PREDICTIONS):
            try:
                predictions = read_file(path)
            except DataError as error:
                logger.warning("%s is left out: %s", path, error)
                continue
            usual = stamp_of_predictions(path)  # --prediction-folder may say otherwise
            stamp = usual if usual.exists() else stamps.get((Place.of(path), predictions.task))
            found.append(replace(predictions, stamp=stamp))
    return found


def read_file(path: Path) -> Predictions:
    """Read a prediction file.

    Raises:
        DataError: If it is damaged, or none of mteb's.
    """
    content = read_predictions(path)
    scores = {name: part for name, part in content.items() if name not in _NOT_SUBSETS}
    meta = content[MODEL]
    if not (isinstance(meta["model_name"], str) and meta["model_name"].strip()):
        raise DataError(f"it does not name its model, but {meta['model_name']!r}.")
    return Predictions(
        path,
        path.name.removesuffix(PREDICTIONS),
        storable(meta["model_name"]),
        str(meta.get("revision")),
        dataset_revision(content),
        scores,
    )
