"""Stamps: what made a result, in the file ``TASK.stamp`` beside ``TASK.json``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from mteb_ext.errors import DataError
from mteb_ext.files import sha256_of
from mteb_ext.json_files import read_json

SUFFIX = ".stamp"  # not .json: mteb takes every JSON file there for a result
_EXPERIMENTS = "experiments"  # mteb's folder, in a revision's, of runs with other options
_LARGEST = 10 << 20  # bytes
_KINDS: Mapping[str, tuple[type, ...]] = {
    **dict.fromkeys(("task", "dataset_revision", "model_name", "model_revision"), (str,)),
    **dict.fromkeys(("protocol", "protocol_version"), (str, type(None))),
    **dict.fromkeys(("predictions_sha256", "result_sha256"), (str, type(None))),
    **dict.fromkeys(("libraries", "model", "data_fingerprints", "hardware"), (dict,)),
    "seconds": (int, float),
    "command": (list,),
    "supplied": (list, type(None)),
}


@dataclass(frozen=True)
class SuppliedFile:
    """A file of scores that were made elsewhere.

    Attributes:
        name: Its name, without its folder.
        sha256: Its sha256.
    """

    name: str
    sha256: str


@dataclass(frozen=True, kw_only=True)
class Stamp:
    """What made a result.

    Attributes:
        task: Name of the task.
        dataset_revision: Revision of the data, as in the result.
        data_fingerprints: Fingerprints of the data, by ``split/subset``; empty for a task of mteb.
        protocol: Where the task's protocol comes from; None for a task of mteb.
        protocol_version: Digest of the protocol, see :func:`mteb_ext.protocol.protocol_version`;
            None for a task of mteb.
        model: How the run was given the model: a name or a path, with its options.
        model_name: Name of the results.
        model_revision: Revision of the results.
        result_sha256: sha256 of the result file as the run left it.
        predictions_sha256: sha256 of the prediction file; None where none was kept.
        seconds: How long the cell took, the model's loading apart.
        command: The command line.
        libraries: Versions of what the scores depend on.
        hardware: Machine, processor and devices.
        supplied: The files that the scores were taken from; None where a model was run.
    """

    task: str
    dataset_revision: str
    data_fingerprints: Mapping[str, str]
    protocol: str | None
    protocol_version: str | None
    model: Mapping[str, Any]
    model_name: str
    model_revision: str
    result_sha256: str | None
    predictions_sha256: str | None
    seconds: float
    command: list[str]
    libraries: Mapping[str, str]
    hardware: Mapping[str, Any]
    supplied: Sequence[SuppliedFile] | None = None

    def write(self, path: Path) -> None:
        """Write the stamp as JSON."""
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(asdict(self), indent=2, ensure_ascii=False, default=str)
        path.write_text(text + "\n", encoding="utf-8")


def read_stamp(path: Path) -> Stamp:
    """Read a stamp.

    Raises:
        DataError: If it is missing, damaged, or of an older version of this package.
    """
    try:
        content = read_json(path, largest=_LARGEST)
        _check(content)
    except DataError as error:
        raise DataError(
            f"{path} is no readable stamp: {error} Run the cell again with --overwrite-strategy "
            "always."
        ) from error
    supplied = content.pop("supplied", None)
    files = supplied and [SuppliedFile(**file) for file in supplied]
    return Stamp(**content, supplied=files)


def _check(content: object) -> None:
    """See that a stamp has all fields and no others, and that they are what they should be.

    Raises:
        DataError: If not.
    """
    if not isinstance(content, dict):
        raise DataError("it is no JSON object.")
    names = {field.name for field in fields(Stamp)}
    if lacking := [name for name in sorted(names - {"supplied"}) if name not in content]:
        raise DataError(f"it lacks {', '.join(lacking)}.")
    if other := [name for name in content if name not in names]:
        raise DataError(f"no stamp has a {other[0]!r:.40}.")
    for name, value in content.items():
        if not isinstance(value, _KINDS[name]) or isinstance(value, bool):
            raise DataError(f"its {name} is {value!r:.40}.")
    texts = [*content["command"], *content["libraries"].values()]
    texts += content["data_fingerprints"].values()
    if not all(isinstance(text, str) for text in texts):
        raise DataError("its command, its libraries or its fingerprints are no texts.")
    for file in content.get("supplied") or ():
        form = {name: type(value) for name, value in file.items()} if isinstance(file, dict) else {}
        if form != {"name": str, "sha256": str}:
            raise DataError(f"its supplied file is {file!r:.40}.")


def file_sha256(path: Path) -> str | None:
    """The sha256 of a file; None where there is none."""
    return sha256_of(path) if path.exists() else None


@dataclass(frozen=True)
class Place:
    """Which model's folder of which kind a file is in, in the layout of mteb and of this package.

    Attributes:
        model: The model's folder name.
        revision: The revision's.
        experiment: The folder name of other options; empty where there are none.
    """

    model: str
    revision: str
    experiment: str

    @classmethod
    def of(cls, path: Path) -> Place:
        """The place of a result, stamp or prediction file."""
        folder = path.absolute().parent
        experiment = folder.name if folder.parent.name == _EXPERIMENTS else ""
        if experiment:
            folder = folder.parent.parent
        return cls(folder.parent.name, folder.name, experiment)

    def below(self, root: Path) -> Path:
        """The folder of this place below another root."""
        folder = root / self.model / self.revision
        return folder / _EXPERIMENTS / self.experiment if self.experiment else folder


def stamp_of_predictions(path: Path) -> Path:
    """Where the stamp of a prediction file is, by the layout of ``mteb-ext run``."""
    task = path.name.removesuffix("_predictions.json")
    return _across(path, "results") / f"{task}{SUFFIX}"


def predictions_of_result(path: Path) -> Path:
    """Where the prediction file of a result is, by the layout of ``mteb-ext run``."""
    return _across(path, "predictions") / f"{path.stem}_predictions.json"


def _across(path: Path, name: str) -> Path:
    """The same place as a file's, below the folder of a name beside its own."""
    place, root = Place.of(path), path.absolute().parent.parent.parent
    if place.experiment:
        root = root.parent.parent
    return place.below(root.parent / name)
