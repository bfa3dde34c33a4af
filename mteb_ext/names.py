"""Hints for misspelt names."""

from __future__ import annotations

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
