"""Whole files: their sha256, and writing that leaves the whole file or nothing."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import os
import stat
import uuid
from pathlib import Path


def open_regular(path: Path) -> io.BufferedReader:
    """Open a regular file to read it. A pipe or a device, which may never end, is refused.

    Raises:
        OSError: If it is another kind of file, or cannot be opened.
    """
    # A pipe without a writer would block in open().
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    file = os.fdopen(os.open(path, flags), "rb")
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return file


def read_regular(path: Path, largest: float) -> bytes | None:
    """The content of a regular file; None if it is larger than ``largest`` bytes.

    Raises:
        OSError: If it is another kind of file, or cannot be read.
    """
    with open_regular(path) as file:
        if os.fstat(file.fileno()).st_size > largest:
            return None
        content = file.read() if largest == float("inf") else file.read(int(largest) + 1)
    return None if len(content) > largest else content  # some systems state 0 for any size


def sha256_of(path: Path) -> str:
    """The sha256 of a file, in hexadecimal digits.

    Raises:
        OSError: If it cannot be read.
    """
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_whole(path: Path, content: bytes) -> None:
    """Write a file beside its place and move it there in one step. Missing folders are made.

    Raises:
        OSError: If the file cannot be written. An older file then stays as it was.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{uuid.uuid4().hex}.part")
    try:
        part.write_bytes(content)
        part.replace(path)
    finally:
        with contextlib.suppress(OSError):
            part.unlink()


def is_folder(path: Path) -> bool:
    """Whether a path is a folder; one with a name that no file can have is none."""
    try:
        return path.is_dir()
    except OSError:  # such as a name of 400 characters
        return False
