"""Whole files: their sha256, and writing that leaves the whole file or nothing."""

from __future__ import annotations

import contextlib
import hashlib
import uuid
from pathlib import Path


def sha256_of(path: Path) -> str:
    """The sha256 of a file, in hexadecimal digits.

    Raises:
        OSError: If it cannot be read.
    """
    with path.open("rb") as file:
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
