"""Where files come from: a pinned public repository, the user's own folder, or the samples.

The data folder is laid out as ``owner/repository/commit/path``. ``registry.txt`` has the same
layout and gives the sha256 of every public file. ``MTEB_EXT_DATA`` names the folder; the default is
the platform's cache folder. A file with the right hash is never fetched again.

A download stays in memory until it is complete and its hash is right. Then it moves into place in
one step. An interrupted download leaves nothing behind. Two processes may fetch one file at once.
"""

from __future__ import annotations

import errno
import hashlib
import os
import time
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from datasets.exceptions import DatasetNotFoundError

from mteb_ext.environment import is_set
from mteb_ext.errors import DataError, OfflineError
from mteb_ext.files import sha256_of, write_whole

if TYPE_CHECKING:
    from urllib3 import BaseHTTPResponse

DATA_VARIABLE = "MTEB_EXT_DATA"
OFFLINE_VARIABLES = ("MTEB_EXT_OFFLINE", "HF_HUB_OFFLINE")
HOST = "https://raw.githubusercontent.com/"
DOWNLOAD_LIMIT = 2**26  # bytes; fifteen times the largest file of the registry
DOWNLOAD_SECONDS = 600.0
_SILENCE_SECONDS = 30.0  # without a byte, and a connection counts as lost
_ATTEMPTS = 3


class DataNotProvidedError(DataError, DatasetNotFoundError):  # type: ignore[misc]
    """The user has not provided the data of a private task. mteb then skips the task."""


class Source(Protocol):
    """Where a task's readers get their files."""

    def file(self, repository: str, name: str) -> Path:
        """The path of a file of a public repository.

        Args:
            repository: ``owner/repository/commit``, optionally with a folder below it.
            name: The file's path below that.

        Raises:
            DataError: If the file is missing or has other content.
        """
        ...

    def own(self, name: str, how_to_get: str) -> Path:
        """The path of a file or folder that only the user can provide.

        Args:
            name: The path below the data folder.
            how_to_get: What the user can do when the file is missing.

        Raises:
            DataNotProvidedError: If the file is missing.
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
                f"{key} is not in registry.txt, so its content cannot be checked. A plugin's task "
                "gets its files with own()."
            )
        path = data_folder() / key
        if not path.is_file():
            if path.is_dir():
                raise DataError(f"{path} is a folder. Replace it with the file.")
            _check_link(path)
            _fetch(key)
        elif sha256_of(path) != registry()[key]:
            raise DataError(
                f"{path} is not the file that the protocol names: its sha256 is {sha256_of(path)}, "
                f"expected {registry()[key]}. The file may be cut short or edited. Delete it, and "
                "the next run fetches it again."
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
        _check_link(path)
        raise DataNotProvidedError(f"{path} does not exist. {how_to_get}")
    return path


def _check_link(path: Path) -> None:
    """Refuse a broken link.

    Raises:
        DataError: If the path is one.
    """
    if path.is_symlink() and not path.exists():
        raise DataError(f"{path} is a broken link. Replace it with the file.")


def data_folder() -> Path:
    """The folder that holds the real data; it need not exist or be writable."""
    if folder := os.environ.get(DATA_VARIABLE):
        return Path(folder).expanduser()
    import platformdirs

    return platformdirs.user_cache_path("mteb_ext")


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


def _fetch(key: str) -> None:
    """Download one file, check it, and put it into the data folder.

    Raises:
        OfflineError: If fetching is forbidden or fails.
        DataError: If the data folder cannot be written.
    """
    target = data_folder() / key
    if is_offline():
        raise OfflineError(
            f"{target} does not exist, and fetching is off ({' or '.join(OFFLINE_VARIABLES)} is "
            f"set). Unset it, or point {DATA_VARIABLE} at a folder that holds {key}."
        )
    try:
        content = _download(HOST + key)
    except _DownloadError as error:
        reason = str(error)
    else:
        found = hashlib.sha256(content).hexdigest()
        if found == registry()[key]:
            _write(target, content)
            return
        reason = (
            f"the host sent another file (sha256 {found}, expected {registry()[key]}); a proxy or "
            "a login page may have answered"
        )
    raise OfflineError(  # without the chain of the network libraries' own errors
        f"{target.name} is not here, and cannot be fetched from {HOST}: {reason}. Try again, or "
        f"point {DATA_VARIABLE} at a folder that holds {key}."
    ) from None


class _DownloadError(Exception):
    """Why a download failed, in a few words."""


def _download(url: str) -> bytes:
    """Download an address, within limits of time and size.

    Raises:
        _DownloadError: If that fails.
    """
    import requests
    from urllib3.exceptions import HTTPError

    reason = ""
    for _ in range(_ATTEMPTS):
        try:
            with requests.get(url, stream=True, timeout=_SILENCE_SECONDS) as response:
                if response.status_code != requests.codes.ok:
                    raise _DownloadError(f"the host answers with status {response.status_code}")
                return _body(response.raw, url.rpartition("/")[2])
        except (OSError, HTTPError) as error:  # those of requests are OSErrors
            found = _innermost(error)
            said = str(found).partition("): ")[2] or str(found)  # without the connection's name
            reason = f"{type(found).__name__}: {said}. Check the network"
    raise _DownloadError(reason)


def _innermost(error: BaseException) -> BaseException:
    """The error that others were raised around, each of which says it again."""
    for held in (getattr(error, "reason", None), *error.args):
        if isinstance(held, BaseException):
            return _innermost(held)
    return error


def _body(raw: BaseHTTPResponse, name: str) -> bytes:
    from tqdm.auto import tqdm

    content = bytearray()
    deadline = time.monotonic() + DOWNLOAD_SECONDS
    with tqdm(desc=name, unit="B", unit_scale=True, leave=False, disable=None) as bar:
        while chunk := raw.read1(2**16, decode_content=True):  # what is here, without waiting
            content += chunk
            bar.update(len(chunk))
            if len(content) > DOWNLOAD_LIMIT:
                raise _DownloadError(f"the host sends more than {DOWNLOAD_LIMIT} bytes")
            if time.monotonic() > deadline:
                raise _DownloadError(
                    f"the host has sent {len(content)} bytes in {DOWNLOAD_SECONDS:.0f} s: too slow"
                )
    return bytes(content)


def _write(target: Path, content: bytes) -> None:
    try:
        write_whole(target, content)
    except OSError as error:
        reason = (
            "the disk is full"
            if error.errno in {errno.ENOSPC, errno.EDQUOT}
            else f"its folder cannot be written: {error}"
        )
        raise DataError(
            f"{target} does not exist, and {reason}. Make room, put the file there yourself, or "
            f"point {DATA_VARIABLE} at a folder that can be written."
        ) from None
