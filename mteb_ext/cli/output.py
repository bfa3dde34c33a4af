"""What the commands print: one place for tables, for lines and for errors."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from mteb_ext.errors import MtebExtError
from mteb_ext.files import write_whole
from mteb_ext.tables.text import on_one_line

if TYPE_CHECKING:
    from pathlib import Path

    from mteb_ext.tables.table import Table

NAME = "mteb-ext"
_LONGEST = 4000  # characters of an error: it may quote a file


def print_text(text: str, path: Path | None) -> None:
    """Write text to a file, or print it.

    Raises:
        MtebExtError: If the file cannot be written.
    """
    if path is None:
        print(text, end="")
    else:
        write_file(path, text)
        print_line(f"wrote {path}")


def write_file(path: Path, text: str) -> None:
    """Write a file.

    Raises:
        MtebExtError: If it cannot be written, or if a result, a prediction file or the like stands
            there.
    """
    from mteb_ext.formats.result import is_of_results

    if is_of_results(path.resolve()):
        raise MtebExtError(
            f"{path} belongs to a folder of results, and would be lost. Name another file."
        )
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise MtebExtError(
            f"{path} cannot be written: {error.strerror}. Make its folder, or name another file."
        ) from error


def write_whole_file(path: Path, text: str) -> None:
    """Write a file whole or not at all.

    Raises:
        MtebExtError: If it cannot be written. An older file then stays as it was.
    """
    try:
        write_whole(path, text.encode("utf-8"))
    except OSError as error:
        raise MtebExtError(f"{path} cannot be written: {error.strerror}.") from error


def print_tables(tables: Iterable[Table], path: Path | None = None) -> None:
    """Print tables: framed on a terminal, plain and unwrapped elsewhere and in a file."""
    from rich.console import Console

    from mteb_ext.tables.table import plain_lines, print_framed

    if path is not None:
        print_text("\n\n".join("\n".join(plain_lines(table)) for table in tables) + "\n", path)
        return
    for number, table in enumerate(tables):
        if number:
            print()
        if sys.stdout and sys.stdout.isatty():
            print_framed(table, Console())
        else:
            print(*plain_lines(table), sep="\n")


def print_line(text: str) -> None:
    """Print one line."""
    print(on_one_line(text))


def print_error(text: str) -> None:
    """Print one line on standard error, without the middle of a text that no one would read."""
    if len(text) > _LONGEST:
        half, more = _LONGEST // 2, len(text) - _LONGEST
        text = f"{text[:half]} [{more:,} characters] {text[-half:]}"
    print(f"{NAME}: {on_one_line(text)}", file=sys.stderr)


@contextmanager
def console() -> Iterator[None]:
    """Make the standard streams fit for a command.

    What the encoding lacks is shown as an escape (a name in Japanese on a Western code page must
    not end the command), and the package's warnings are lines of the command's own.
    """
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    handler, logger = _Lines(), logging.getLogger("mteb_ext")
    logger.addHandler(handler)
    logger.propagate = False
    try:
        yield
        if sys.stdout:  # it may have been closed
            sys.stdout.flush()  # a reader that has gone away is seen here
    finally:
        logger.propagate = True
        logger.removeHandler(handler)


def discard_output() -> None:
    """Send what is still to be written nowhere: nobody can take it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _Lines(logging.Handler):
    """Warnings as lines on standard error."""

    def emit(self, record: logging.LogRecord) -> None:
        print_error(record.getMessage())
