"""Text for a terminal: nothing in a name acts on it, and numbers look alike everywhere."""

from __future__ import annotations

import math


def printable(text: str) -> str:
    r"""The text with whatever does not print, such as escape sequences, shown as ``\x1b``.

    Names of models, files and tasks come from anywhere. A line break in one would break a table, an
    escape sequence act on the terminal, and a mark of direction turn the rest of the line around.
    """
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode("ascii")
        for char in text
    )


def number(value: float, digits: int = 4) -> str:
    """A number to so many decimals; nothing for nan."""
    return "" if math.isnan(value) else f"{value:.{digits}f}"


def interval(low: float, high: float) -> str:
    """A confidence interval; nothing where it is undefined."""
    return "" if math.isnan(low) else f"{low:.3f} to {high:.3f}"
