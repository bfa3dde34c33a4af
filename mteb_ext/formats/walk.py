"""The files below folders: each once, through links and circles, regular ones only."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path

from mteb_ext.errors import DataError


def check_folders(*folders: str | Path) -> None:
    """See that folders exist. Commands do it first, before slow imports.

    Raises:
        DataError: If one does not.
    """
    for folder in folders:
        if not isinstance(folder, (str, os.PathLike)):
            raise DataError(f"{folder!r} is no folder: name folders one by one, as text or paths.")
        if not Path(folder).is_dir():
            raise DataError(
                f"{folder} is not a folder. Name the one that --output-folder was given."
            )


def files_below(*folders: str | Path, unreadable: Callable[[Path, OSError], object]) -> list[Path]:
    """The files below folders, each once, sorted; hidden ones are left out.

    Files are told apart by their paths, so that hard links are files of their own. A link counts
    where what it points to is not found otherwise.

    Args:
        folders: Folders.
        unreadable: Called with each file and folder that cannot be read, pipes and devices too.

    Raises:
        DataError: If a folder does not exist.
    """
    check_folders(*folders)
    walk = _Walk(unreadable)
    for folder in folders:
        walk.add(Path(folder))
    walk.follow_links()
    return sorted(walk.files)


class _Walk:
    """A walk without recursion: folders may be nested deeper than Python's stack, or in a circle.

    Links are followed last, so that none of them stands for a file that is really there.
    """

    def __init__(self, unreadable: Callable[[Path, OSError], object]) -> None:
        self.files: list[Path] = []
        self._unreadable = unreadable
        self._seen: set[str] = set()  # real paths
        self._links: list[Path] = []

    def add(self, folder: Path) -> None:
        """Add the files below a folder, and note the links."""
        waiting = [folder]
        while waiting:
            here = waiting.pop()
            try:
                if not self._is_new(here):
                    continue
                with os.scandir(here) as found:
                    entries = sorted(found, key=lambda entry: entry.name)
            except OSError as error:
                self._unreadable(here, error)
                continue
            for entry in entries:
                path = here / entry.name
                if entry.name.startswith("."):
                    continue  # as of cells that are being run
                if entry.is_symlink():
                    self._links.append(path)
                elif entry.is_dir():
                    waiting.append(path)
                else:
                    self._add_file(path)

    def follow_links(self) -> None:
        """Add what links point to, once, where it was not found otherwise."""
        while self._links:
            path = self._links.pop(0)
            if path.is_dir():
                self.add(path)
            elif os.path.lexists(path):
                self._add_file(path)

    def _add_file(self, path: Path) -> None:
        try:
            is_regular = stat.S_ISREG(path.stat().st_mode)
        except FileNotFoundError:
            return  # a link to nothing, or a file that was removed just now
        except OSError as error:
            self._unreadable(path, error)
            return
        if not is_regular:
            self._unreadable(path, OSError(errno.EINVAL, "not a regular file"))
        elif self._is_new(path):
            self.files.append(path)

    def _is_new(self, path: Path) -> bool:
        real = os.path.realpath(path)
        if real in self._seen:
            return False
        self._seen.add(real)
        return True
