"""Stamps: what made a result, in the file ``TASK.stamp`` beside ``TASK.json``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from mteb_ext.errors import DataError
from mteb_ext.files import sha256_of, write_whole
from mteb_ext.formats.layout import LARGEST_SMALL
from mteb_ext.json_files import read_json, storable

_FORM = ConfigDict(extra="forbid")


@dataclass(frozen=True)
class SuppliedFile:
    """A file of scores that were made elsewhere.

    Attributes:
        name: Its name, without its folder.
        sha256: Its sha256.
    """

    __pydantic_config__: ClassVar[ConfigDict] = _FORM

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

    __pydantic_config__: ClassVar[ConfigDict] = _FORM

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
    seconds: Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]
    command: list[str]
    libraries: Mapping[str, str]
    hardware: Mapping[str, Any]
    supplied: Sequence[SuppliedFile] | None = None

    def write(self, path: Path) -> None:
        """Write the stamp as JSON.

        Names of files that are not UTF-8 are written with escapes.
        """
        text = json.dumps(_storable(asdict(self)), indent=2, ensure_ascii=False, default=str)
        write_whole(path, f"{text}\n".encode())


_STAMP: TypeAdapter[Stamp] = TypeAdapter(Stamp)


def read_stamp(path: Path) -> Stamp:
    """Read a stamp.

    Raises:
        DataError: If it is missing or damaged, or another version of this package wrote it.
    """
    try:
        return _STAMP.validate_python(read_json(path, largest=LARGEST_SMALL))
    except (DataError, ValidationError) as error:
        reason = _fault(error) if isinstance(error, ValidationError) else str(error)
        raise DataError(
            f"{path} is no readable stamp: {reason} Run the cell again with --overwrite-strategy "
            "always."
        ) from error


def _fault(error: ValidationError) -> str:
    """The first fault, as a sentence."""
    first = error.errors(include_url=False)[0]
    where = ".".join(map(str, first["loc"])) or "the content"
    return f"{where:.40}: {first['msg'].lower()}."


def _storable(value: Any) -> Any:  # noqa: ANN401 - of JSON
    if isinstance(value, Mapping):
        return {_storable(name): _storable(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_storable(part) for part in value]
    return storable(str(value)) if isinstance(value, (str, Path)) else value


def file_sha256(path: Path) -> str | None:
    """The sha256 of a file; None where there is none."""
    return sha256_of(path) if path.exists() else None
