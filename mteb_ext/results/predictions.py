"""The prediction files of any number of folders: what models scored, and on which data.

They are mteb's own, with the dataset revision beside where the task is of this package.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mteb_ext.bases.predictions import MODEL, OURS, dataset_revision, read_predictions
from mteb_ext.errors import DataError
from mteb_ext.results.reading import PREDICTIONS, json_paths

logger = logging.getLogger(__name__)

_NOT_SUBSETS = frozenset({MODEL, OURS})


@dataclass(frozen=True)
class Predictions:
    """One model's scores of one task.

    Attributes:
        path: The file.
        task: The task's name.
        model: The model's name.
        revision: Its revision.
        dataset_revision: Which data they were made on; None where the file does not say.
        scores: mteb's predictions by subset and split.
    """

    path: Path
    task: str
    model: str
    revision: str
    dataset_revision: str | None
    scores: Mapping[str, Mapping[str, Any]]


def find_predictions(*folders: str | Path) -> list[Predictions]:
    """Read every prediction file below folders, in the order of their paths.

    A file that is damaged, or none of mteb's, is named by a logged warning and left out.

    Raises:
        DataError: If a folder does not exist.
    """
    found = []
    for path in json_paths(*folders):
        if path.name.endswith(PREDICTIONS):
            try:
                found.append(_read(path))
            except DataError as error:
                logger.warning("%s is left out: %s", path, error)
    return found


def _read(path: Path) -> Predictions:
    content = read_predictions(path)
    scores = {name: part for name, part in content.items() if name not in _NOT_SUBSETS}
    meta = content[MODEL]
    if not (isinstance(meta["model_name"], str) and meta["model_name"].strip()):
        raise DataError(f"it does not name its model, but {meta['model_name']!r}.")
    return Predictions(
        path,
        path.name.removesuffix(PREDICTIONS),
        meta["model_name"].encode("utf-8", "backslashreplace").decode("utf-8"),
        str(meta.get("revision")),
        dataset_revision(content),
        scores,
    )
