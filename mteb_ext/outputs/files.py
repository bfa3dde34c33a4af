"""Files of outputs as text: regular files of bounded size, packed by gzip or not."""

from __future__ import annotations

import gzip
import io
import stat
import zlib
from pathlib import Path

from mteb_ext.data.readers import UNPACKED_LIMIT, decoded, unpacked
from mteb_ext.errors import DataError
from mteb_ext.outputs.rows import Text

_GZIP = b"\x1f\x8b"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


def read_text(path: Path) -> Text:
    """Read a file, whatever its name ends in.

    Raises:
        DataError: If it cannot be read, is no regular file, is larger than ``UNPACKED_LIMIT``
            bytes, packed or unpacked, or is not UTF-8 text.
    """
    content = _content(path)
    if content.startswith(_GZIP):
        try:
            with gzip.open(io.BytesIO(content)) as file:
                content = unpacked(file, str(path))
        except (OSError, EOFError, zlib.error) as error:
            raise DataError(
                f"{path} is a gzip file that cannot be unpacked ({error}). Copy it again."
            ) from error
    if content.startswith(_UTF16):
        raise DataError(f"{path} is UTF-16 text. Save it as UTF-8.")
    if not content.strip():
        raise DataError(f"{path} is empty. Name the file with the scores.")
    text = decoded(content, path)
    return Text(str(path), text)


def _content(path: Path) -> bytes:
    """The bytes of a file; neither more than the limit nor a device or pipe is ever read.

    Raises:
        DataError: If it cannot be read.
    """
    try:
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            raise DataError(f"{path} is a folder. Name the file with the scores.")
        if not stat.S_ISREG(status.st_mode):
            raise DataError(f"{path} is not a regular file. Write the scores to one first.")
        content = b""
        if status.st_size <= UNPACKED_LIMIT:
            with path.open("rb") as file:
                content = file.read(UNPACKED_LIMIT + 1)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}. Name another file.") from error
    if len(content) > UNPACKED_LIMIT or status.st_size > UNPACKED_LIMIT:
        raise DataError(
            f"{path} has more than {UNPACKED_LIMIT >> 20} MB, and no task has so many scores. Name "
            "the file with the scores of this task alone."
        )
    return content
