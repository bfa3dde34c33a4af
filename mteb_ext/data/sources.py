"""Where files come from: a pinned public repository, the user's own folder, or the samples.

The data folder is laid out as ``owner/repository/commit/path``, the layout of ``registry.txt``,
which holds the sha256 of every public file. ``MTEB_EXT_DATA`` names the folder; without it the
platform's cache folder is used. A file that is there and has the right hash is never fetched.
"""

from __future__ import annotations

import hashlib
import os
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Protocol

from datasets.exceptions import DatasetNotFoundError

from mteb_ext.environment import is_set
from mteb_ext.errors import DataError, OfflineError

DATA_VARIABLE = "MTEB_EXT_DATA"
OFFLINE_VARIABLES = ("MTEB_EXT_OFFLINE", "HF_HUB_OFFLINE")
HOST = "https://raw.githubusercontent.com/"
_RETRIES = 2


class DataNotProvidedError(DataError, DatasetNotFoundError):  # type: ignore[misc]
    """Data that only the user can provide is not there; mteb then skips a private task."""


class Source(Protocol):
    """What the readers of a task ask for their files."""

    def file(self, repository: str, name: str) -> Path:
        """The path of a file of a public repository.

        Args:
            repository: ``owner/repository/commit``, and a folder in it where that is shorter.
            name: The file's path below that.

        Raises:
            DataError: If there is no such file, or not with the content that is expected.
        """
        ...

    def own(self, name: str, how_to_get: str) -> Path:
        """The path of a file or folder that only the user can provide.

        Args:
            name: The path below the data folder.
            how_to_get: What to do when it is not there.

        Raises:
            DataNotProvidedError: If it is not there.
        """
        ...


class UpstreamFiles:
    """The real data: verified files in the data folder, fetched where they are missing."""

    @staticmethod
    def file(repository: str, name: str) -> Path:
        """See :class:`Source`.

        Raises:
            OfflineError: If the file is missing and cannot be fetched.
            DataError: If the file is there with another content, or cannot be written.
        """
        key = f"{repository}/{name}"
        if key not in registry():
            raise DataError(
                f"{key} is not in registry.txt, so that its content is not known. Files of another "
                "package's tasks are asked for with own()."
            )
        path = data_folder() / key
        if not path.is_file():
            _fetch(key)
        elif _sha256(path) != registry()[key]:
            raise DataError(
                f"{path} is not the file that the protocol names: its sha256 is {_sha256(path)}, "
                f"expected {registry()[key]}. It may be cut short or edited. Delete or replace it; "
                "when it is missing, the next run fetches it."
            )
        return path

    @staticmethod
    def own(name: str, how_to_get: str) -> Path:
        """See :class:`Source`."""
        return _existing(data_folder() / name, how_to_get)


class SampleFiles:
    """The made-up files that come with the package, under the same names as the real ones."""

    @staticmethod
    def file(repository: str, name: str) -> Path:
        """See :class:`Source`; the repository makes no difference."""
        del repository
        return samples_folder() / name

    @staticmethod
    def own(name: str, how_to_get: str) -> Path:
        """See :class:`Source`."""
        return _existing(samples_folder() / name, how_to_get)


def _existing(path: Path, how_to_get: str) -> Path:
    if not path.exists():
        raise DataNotProvidedError(f"{path} does not exist. {how_to_get}")
    return path


def data_folder() -> Path:
    """The folder that holds the real data; it need not exist or be writable."""
    if folder := os.environ.get(DATA_VARIABLE):
        return Path(folder).expanduser()
    import pooch

    return Path(pooch.os_cache("mteb_ext"))


def samples_folder() -> Path:
    """The folder of the bundled samples."""
    return Path(str(resources.files("mteb_ext.data") / "samples"))


@cache
def registry() -> dict[str, str]:
    """The sha256 of every public file, by its path ``owner/repository/commit/path``."""
    lines = (resources.files("mteb_ext.data") / "registry.txt").read_text("utf-8").splitlines()
    return dict(line.split(" ") for line in lines)  # no path in it has a space


def is_offline() -> bool:
    """Whether the environment forbids fetching."""
    return any(map(is_set, OFFLINE_VARIABLES))


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _fetch(key: str) -> None:
    """Download one file: pinned, checked, moved into place only when complete."""
    target = data_folder() / key
    if is_offline():
        raise OfflineError(
            f"{target} does not exist, and fetching is off ({' or '.join(OFFLINE_VARIABLES)} is "
            f"set). Unset it, or point {DATA_VARIABLE} at a folder that holds {key}."
        )
    import pooch

    downloads = pooch.create(
        path=data_folder(), base_url=HOST, registry=registry(), retry_if_failed=_RETRIES
    )
    try:
        downloads.fetch(key, progressbar=True)
    except (PermissionError, NotADirectoryError, FileExistsError) as error:
        raise DataError(
            f"{target} does not exist, and its folder cannot be written: {error}. Put the file "
            f"there, or point {DATA_VARIABLE} at a folder that can be written."
        ) from error
    except Exception as error:
        raise OfflineError(
            f"{target} does not exist and could not be fetched from {HOST}{key}: "
            f"{type(error).__name__}: {error}. Check the network, or point {DATA_VARIABLE} at a "
            f"folder that holds {key}."
        ) from error
