"""Prediction files: a model's scores by pair or candidate, in mteb's layout.

One JSON file a task and model: the model under ``mteb_model_meta``, then the predictions by subset
and split. Ours add the dataset revision under ``mteb_ext``, because scores of one edition of the
data say nothing of another.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from mteb_ext.errors import DataError, ProtocolError
from mteb_ext.files import write_whole
from mteb_ext.formats.layout import LARGEST_PREDICTIONS
from mteb_ext.json_files import read_json

if TYPE_CHECKING:
    from mteb.models import ModelMeta

MODEL = "mteb_model_meta"
NAMELESS = "no_model_name"  # how mteb calls a model that was not loaded by its name
OURS = "mteb_ext"


def read_predictions(path: Path) -> dict[str, Any]:
    """Read a file that a run wrote into its ``--prediction-folder``.

    Returns:
        mteb's layout: predictions by subset and split, ``mteb_model_meta``, and ``mteb_ext`` where
        the file is of a task of this package.

    Raises:
        DataError: If it is missing or damaged.
    """
    try:
        predictions = read_json(path, largest=LARGEST_PREDICTIONS)
        _check_form(predictions)
    except DataError as error:
        raise DataError(
            f"{path} is no readable prediction file: {error} Remove it, and run again with "
            "--overwrite-strategy always."
        ) from error
    return cast(dict[str, Any], predictions)


def _check_form(predictions: object) -> None:
    if not isinstance(predictions, dict) or not all(
        isinstance(part, dict) for part in predictions.values()
    ):
        raise DataError("it does not hold predictions by subset and split.")
    if "model_name" not in predictions.get(MODEL, {}):
        raise DataError("it does not say whose predictions it holds.")


def dataset_revision(predictions: Mapping[str, Any]) -> str | None:
    """The dataset revision that predictions were made on; None where the file does not say."""
    ours = predictions.get(OURS)
    revision = ours.get("dataset_revision") if isinstance(ours, Mapping) else None
    return None if revision is None else str(revision)


def check_predictions(path: Path, meta: ModelMeta, revision: str, split: str, subset: str) -> None:
    """Refuse to write into a file of another model, as mteb would, or of another edition.

    Two models without a name cannot be told apart, so theirs are never overwritten.

    Raises:
        ProtocolError: If the file holds predictions of another model or edition of the data.
        DataError: If it is damaged.
    """
    if not path.exists():
        return
    held = read_predictions(path)
    name = held[MODEL]["model_name"]
    same = held[MODEL] == {"model_name": meta.name, "revision": meta.revision}
    nameless = str(meta.name).startswith(NAMELESS) and split in held.get(subset, {})
    if not same or nameless:
        raise ProtocolError(
            f"{path} holds the predictions of {name}. Give every model a prediction folder of its "
            "own, or remove the file."
        )
    if dataset_revision(held) != revision:
        raise ProtocolError(
            f"{path} holds predictions on the dataset revision {dataset_revision(held)}, and this "
            f"run is on {revision}. Remove the file, or name another prediction folder."
        )


def write_predictions(
    path: Path, meta: ModelMeta, revision: str, split: str, subset: str, scores: object
) -> None:
    """Add the predictions of a subset and split to a file, as a whole or not at all."""
    held = read_predictions(path) if path.exists() else {}
    held[MODEL] = {"model_name": meta.name, "revision": meta.revision}
    held[OURS] = {"dataset_revision": revision}
    held.setdefault(subset, {})[split] = scores
    write_whole(path, json.dumps(held).encode())
