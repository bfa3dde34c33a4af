"""Stamps: what made a result, in a file beside it."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any

from mteb_ext.data.json_files import read_json
from mteb_ext.errors import DataError

if TYPE_CHECKING:
    from mteb.abstasks import AbsTask

_LIBRARIES = (
    "mteb-ext",
    "mteb",
    "sentence-transformers",
    "transformers",
    "torch",
    "numpy",
    "scipy",
    "datasets",
)


@dataclass(frozen=True)
class Stamp:
    """What made a result.

    Attributes:
        task: Name of the task.
        dataset_revision: Revision of the data, as in the result.
        protocol: Where the task's protocol comes from; None for a task of mteb.
        model: How the run was given the model: a name or a path, with its options.
        model_name: Name of the results.
        model_revision: Revision of the results.
        predictions_sha256: sha256 of the prediction file; None where none was kept.
        seconds: How long the cell took, the model's loading apart.
        command: The command line.
        libraries: Versions of what the scores depend on.
        hardware: Machine, processor and devices.
    """

    task: str
    dataset_revision: str
    protocol: str | None
    model: dict[str, Any]
    model_name: str
    model_revision: str
    predictions_sha256: str | None
    seconds: float
    command: list[str]
    libraries: dict[str, str]
    hardware: dict[str, Any]

    def write(self, path: Path) -> None:
        """Write the stamp as JSON."""
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(asdict(self), indent=2, ensure_ascii=False, default=str)
        path.write_text(text + "\n", encoding="utf-8")


def read_stamp(path: Path) -> Stamp:
    """Read a stamp, ``TASK.stamp`` beside the result ``TASK.json``.

    Raises:
        DataError: If it is missing or damaged.
    """
    try:
        content = read_json(path)
        _check_form(content)
    except DataError as error:
        raise DataError(
            f"{path} is no readable stamp: {error} Run the cell again with --overwrite-strategy "
            "always."
        ) from error
    return Stamp(**content)


_TEXT_OR_NONE = (str, NoneType)
_FORM: Mapping[str, type | tuple[type, ...]] = {
    "task": str,
    "dataset_revision": str,
    "protocol": _TEXT_OR_NONE,
    "model": dict,
    "model_name": str,
    "model_revision": str,
    "predictions_sha256": _TEXT_OR_NONE,
    "seconds": (int, float),
    "command": list,
    "libraries": dict,
    "hardware": dict,
}


def _check_form(content: object) -> None:
    if not isinstance(content, dict) or content.keys() != _FORM.keys():
        raise DataError("it does not hold what a stamp holds.")
    for name, kind in _FORM.items():
        if not isinstance(content[name], kind) or isinstance(content[name], bool):
            raise DataError(f"its {name} is {content[name]!r}.")
    texts = [*content["command"], *content["libraries"].values()]
    if not all(isinstance(text, str) for text in texts):
        raise DataError("its command or its libraries are no texts.")


def file_sha256(path: Path) -> str | None:
    """The sha256 of a file; None where there is none."""
    if not path.exists():
        return None
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def protocol_of(task: AbsTask) -> str | None:
    """Where the protocol of a task of this package comes from."""
    source = getattr(getattr(task, "protocol", None), "source", None)
    return None if source is None else str(source)


def libraries() -> dict[str, str]:
    """Versions of the libraries that scores depend on."""
    found = {"python": platform.python_version()}
    for name in _LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def hardware() -> dict[str, Any]:
    """Machine, processor and devices of this process."""
    found: dict[str, Any] = {
        "system": platform.system(),
        "machine": platform.machine(),
        "cpus": os.cpu_count(),
    }
    torch = sys.modules.get("torch")
    if torch is not None:
        found["threads"] = torch.get_num_threads()
        found["gpus"] = [
            torch.cuda.get_device_name(i)
            for i in range(torch.cuda.device_count() if torch.cuda.is_available() else 0)
        ]
    return found
