"""Stamps: what made a result, in a file beside it."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sys
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
        return Stamp(**json.loads(path.read_text("utf-8")))
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise DataError(
            f"{path} is no readable stamp ({type(error).__name__}: {error}). Run the cell again "
            "with --overwrite-strategy always."
        ) from error


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
