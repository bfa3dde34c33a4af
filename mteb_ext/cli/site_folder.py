"""Where a site is written: whole or not at all, and never over anything else."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from mteb_ext.errors import DataError

LISTING = "SHA256SUMS"  # as sha256sum writes and checks it


def check_place(output: Path, folders: Sequence[Path]) -> None:
    """See that a site can be written, before anything is computed.

    Raises:
        DataError: If the folder holds anything but an older site, or lies in a folder of results,
            which would be searched for results the next time, or around one.
    """
    place = output.resolve()
    for folder in (f.resolve() for f in folders):
        if place.is_relative_to(folder) or folder.is_relative_to(place):
            raise DataError(f"{output} and the results in {folder} lie in one another; part them.")
    if not place.exists():
        return
    if not place.is_dir():
        raise DataError(f"{output} is no folder; name another one.")
    present = {path for path in place.rglob("*") if not path.is_dir()}
    if foreign := sorted(present - _listed(place)):
        raise DataError(
            f"{foreign[0]} is not part of a site that was written here before, and a new one "
            f"replaces the whole folder {output}. Move it away, or name another folder."
        )


def write_site(output: Path, files: Mapping[str, str]) -> None:
    """Write a site beside its place, then put it there.

    Args:
        output: Its folder, which an older site may stand in, see `check_place`.
        files: The text of each file by its path.
    """
    content = {path: text.encode("utf-8") for path, text in sorted(files.items())}
    sums = [f"{hashlib.sha256(data).hexdigest()}  {path}\n" for path, data in content.items()]
    content[LISTING] = "".join(sums).encode("utf-8")
    place = output.resolve()
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{place.name}-", dir=place.parent) as name:
        new, old = Path(name) / "new", Path(name) / "old"
        for path, data in content.items():
            file = new / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
        if place.exists():
            place.rename(old)
        new.rename(place)


def _listed(place: Path) -> set[Path]:
    """The files of the site that stands there."""
    listing = place / LISTING
    if not listing.is_file():
        return set()
    lines = listing.read_text("utf-8", errors="replace").splitlines()
    return {listing, *(place / line.partition("  ")[2] for line in lines)}
