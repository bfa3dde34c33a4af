"""Where a site is written: whole or not at all, and never over anything else."""

from __future__ import annotations

import errno
import hashlib
import shutil
import tempfile
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path

from mteb_ext.errors import DataError
from mteb_ext.files import read_regular, sha256_of, write_whole

LISTING = "SHA256SUMS"  # as sha256sum writes and checks it
MARK = "mteb-ext-site.txt"
_MARK_TEXT = (
    "'mteb-ext leaderboard' wrote this folder, and replaces it as a whole the next time.\n"
    "Keep files of your own elsewhere.\n"
)
_LARGEST_LISTING = 10 << 20  # bytes
# Of a place that cannot be renamed: a mount point, or a folder whose parent is read-only.
_FIXED = {errno.EBUSY, errno.EXDEV, errno.EACCES, errno.EPERM, errno.EROFS}


def check_place(output: Path, folders: Sequence[Path]) -> None:
    """See that a site can be written, before anything is computed.

    Raises:
        DataError: If the folder holds anything but an older site as it was written, or lies in a
            folder of results, which would be searched for results the next time, or around one.
    """
    place = output.resolve()
    for folder in (f.resolve() for f in folders):
        if place.is_relative_to(folder) or folder.is_relative_to(place):
            raise DataError(f"{output} and the results in {folder} lie in one another; part them.")
    _check_older(place, output)


def write_site(output: Path, files: Mapping[str, str]) -> None:
    """Write a site beside its place, then put it there.

    A place that cannot be renamed, as a mount point, is written into, file by file.

    Args:
        output: Its folder, which an older site may stand in, see `check_place`.
        files: The text of each file by its path.

    Raises:
        DataError: If the folder holds anything but an older site.
        OSError: If the site cannot be written. The older one then stays.
    """
    texts = {**files, MARK: _MARK_TEXT}
    content = {path: text.encode("utf-8") for path, text in sorted(texts.items())}
    place = output.resolve()
    _check_older(place, output)
    place.parent.mkdir(parents=True, exist_ok=True)
    try:
        _replace(place, {**content, LISTING: _listing(content)})
    except OSError as error:
        if error.errno not in _FIXED or not place.is_dir():
            raise
        _write_into(place, content)


def _replace(place: Path, content: Mapping[str, bytes]) -> None:
    old = place.with_name(f".{place.name}-{uuid.uuid4().hex}")
    with tempfile.TemporaryDirectory(prefix=f".{place.name}-", dir=place.parent) as name:
        new = Path(name) / "new"
        for path, data in content.items():
            file = new / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
        try:
            if place.exists():
                place.rename(old)
            new.rename(place)
        except BaseException:  # an interrupt too
            if old.exists() and not place.exists():
                old.rename(place)
            raise
    shutil.rmtree(old, ignore_errors=True)


def _write_into(place: Path, content: Mapping[str, bytes]) -> None:
    """Write files over an older site's. If that ends halfway, the next run can start again."""
    older = _listed(place)
    sums = [f"{digest}  {path}\n" for path, digests in older.items() for digest in digests]
    write_whole(place / MARK, content[MARK])
    write_whole(place / LISTING, "".join(sums).encode("utf-8") + _listing(content))
    for path, data in content.items():
        write_whole(place / path, data)
    for path in older.keys() - content.keys():
        (place / path).unlink(missing_ok=True)
    write_whole(place / LISTING, _listing(content))


def _listing(content: Mapping[str, bytes]) -> bytes:
    lines = (f"{hashlib.sha256(data).hexdigest()}  {path}\n" for path, data in content.items())
    return "".join(lines).encode("utf-8")


def _check_older(place: Path, output: Path) -> None:
    """See that all in a folder is of a site that was written there before.

    Raises:
        DataError: If not.
    """
    if not place.exists():
        return
    if not place.is_dir():
        raise DataError(f"{output} is no folder; name another one.")
    listed = _listed(place)
    for path in sorted(place.rglob("*")):
        name = path.relative_to(place).as_posix()
        if path.is_dir() and not path.is_symlink():
            known = any(other.startswith(f"{name}/") for other in listed)
        else:
            known = name == LISTING and bool(listed)
            known = known or (path.is_file() and sha256_of(path) in listed.get(name, ()))
        if path.is_symlink() or not known:
            raise DataError(
                f"{path} is not part of a site that was written here before, or was changed since. "
                f"A new site replaces the whole folder {output}. Move the file away, or name "
                "another folder."
            )


def _listed(place: Path) -> dict[str, set[str]]:
    """The digests of the files of the site that stands in a folder; empty if there is none."""
    try:
        mark = read_regular(place / MARK, len(_MARK_TEXT))
        listing = read_regular(place / LISTING, _LARGEST_LISTING)
    except OSError:
        return {}
    if mark != _MARK_TEXT.encode("utf-8") or listing is None:
        return {}
    listed: dict[str, set[str]] = {}
    for line in listing.decode("utf-8", errors="replace").splitlines():
        digest, _, path = line.partition("  ")
        if not Path(path).is_absolute() and ".." not in Path(path).parts:
            listed.setdefault(path, set()).add(digest)
    return listed
