"""Prediction files: a model's scores by pair or candidate, in mteb's layout.

One JSON file a task and model: the model under ``mteb_model_meta``, then the predictions by subset
and split. Ours add the dataset revision under ``mteb_ext``, because scores of one edition of the
data say nothing of another.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from mteb_ext.errors import DataError, ProtocolError
from mteb_ext.files import write_whole
from mteb_ext.formats.layout import LARGEST_PREDICTIONS, PREDICTIONS, Place
from mteb_ext.json_files import brief, decode_json, read_json, storable

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
    return _checked(path, lambda: read_json(path, largest=LARGEST_PREDICTIONS))


def _checked(path: Path, read: Callable[[], object]) -> dict[str, Any]:
    try:
        predictions = read()
        _check_form(predictions)
    except DataError as error:
        raise DataError(
            f"{path} is no readable prediction file: {error} Remove it, and run again with "
            "--overwrite-strategy always."
        ) from error
    return cast(dict[str, Any], predictions)


@dataclass(frozen=True)
class Predictions:
    """One model's scores of one task.

    Attributes:
        path: The file.
        task: The task's name.
        model: The model's name.
        revision: Its revision.
        dataset_revision: The data that was scored; None if the file does not say.
        scores: mteb's predictions by subset and split.
    """

    path: Path
    task: str
    model: str
    revision: str
    dataset_revision: str | None
    scores: Mapping[str, Mapping[str, Any]] = field(repr=False)

    @cached_property
    def place(self) -> Place:
        """The model's folder that the file is in."""
        return Place.of(self.path)

    @cached_property
    def digest(self) -> str:
        """The sha256 of the scores alone, whatever their order.

        Raises:
            DataError: If they are nested too deeply.
        """
        try:
            content = json.dumps(self.scores, sort_keys=True)
        except RecursionError as error:
            raise DataError("the file is nested too deeply.") from error
        return hashlib.sha256(content.encode()).hexdigest()


def predictions_in(path: Path, read: Callable[[], bytes]) -> Predictions:
    """The predictions of a file.

    Args:
        path: The file.
        read: Reads its content.

    Raises:
        DataError: If the file is damaged, or does not name its model.
    """
    content = _checked(path, lambda: decode_json(read()))
    meta = content[MODEL]
    if not (isinstance(meta["model_name"], str) and meta["model_name"].strip()):
        raise DataError(f"the file names the model {brief(meta['model_name'])}.")
    return Predictions(
        path,
        path.name.removesuffix(PREDICTIONS),
        storable(meta["model_name"]),
        str(meta.get("revision")),
        dataset_revision(content),
        {name: part for name, part in content.items() if name not in {MODEL, OURS}},
    )


def _check_form(predictions: object) -> None:
    if not isinstance(predictions, dict) or not all(
        isinstance(part, dict) for part in predictions.values()
    ):
        raise DataError("the file does not hold predictions by subset and split.")
    if "model_name" not in predictions.get(MODEL, {}):
        raise DataError("the file does not name its model.")


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
