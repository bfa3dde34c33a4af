"""Hints for misspelt names, and names that can stand in a path."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(name: str, known: Iterable[str], *, cutoff: float = 0.6) -> str:
    """Close names, as the last sentence of an error about an unknown name. Case is ignored.

    Args:
        name: The unknown name.
        known: The known names.
        cutoff: The smallest similarity, from 0 to 1, as in :func:`difflib.get_close_matches`.

    Returns:
        A sentence with a leading space; empty if no name is close.
    """
    by_case = {other.casefold(): other for other in known}
    wanted = name.casefold()
    close = [wanted] if wanted in by_case else get_close_matches(wanted, by_case, cutoff=cutoff)
    names = " or ".join(repr(by_case[match]) for match in close)
    return f" Did you mean {names}?" if names else ""


_NOT_IN_A_FILE_NAME = re.compile(r'[\x00-\x1f\x7f-\x9f\u2028\u2029<>:"/\\|?*]')
_LONGEST = 150  # characters: a file name has up to 255 bytes, and an ending


def file_name_fault(name: str) -> str | None:
    """What keeps a name from being the name of a file on every system; None if nothing does.

    Result files are named after tasks, and folders after models. A leading dot would hide them.
    """
    if not name:
        return "the name is empty"
    if len(name) > _LONGEST:
        return f"the name has {len(name)} characters; {_LONGEST} are allowed"
    if found := _NOT_IN_A_FILE_NAME.search(name):
        return f"the name {name[:60]!r} contains {found[0]!r}"
    if name.startswith(".") or name != name.strip(" ") or name.endswith("."):
        return f"the name {name[:60]!r} begins or ends with a dot or a space"
    return None
