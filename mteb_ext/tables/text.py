"""Text for people: nothing in a name acts on a terminal, and numbers look alike everywhere."""

from __future__ import annotations

import math

_SMALLEST_P = 0.0001


def on_one_line(text: str) -> str:
    """Text without line breaks, fit to be printed."""
    return printable(" ".join(text.split()))


def printable(text: str) -> str:
    r"""The text with whatever does not print, such as escape sequences, shown as ``\x1b``.

    Names of models, files and tasks come from anywhere. A line break in one would break a table, an
    escape sequence act on the terminal, and a mark of direction turn the rest of the line around.
    """
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode("ascii")
        for char in text
    )


def spreadsheet_cell(text: str) -> str:
    """The text as a cell of a CSV file: a spreadsheet takes it for text, and for no formula."""
    shown = printable(text)
    return f"'{shown}" if shown.startswith(("=", "+", "-", "@")) else shown


def number(value: float, digits: int = 4) -> str:
    """A number to so many decimals; nothing for nan."""
    return "" if math.isnan(value) else f"{value:z.{digits}f}"  # z: no -0.00


def interval(low: float, high: float, digits: int = 3) -> str:
    """A confidence interval; nothing where it is undefined."""
    return "" if math.isnan(low) else f"{low:z.{digits}f} to {high:z.{digits}f}"


def p_value(p: float) -> str:
    """A p-value to four decimals. It is never 0, and is not shown as if it were."""
    return f"<{_SMALLEST_P}" if p < _SMALLEST_P else f"{p:.4f}"


def metric_name(metric: str, subset: str, subsets: int, all_subsets: int) -> str:
    """The name of a score: a mean over subsets says so, and whether some are missing.

    Args:
        metric: The metric.
        subset: The subset; empty for a mean.
        subsets: How many the score is over.
        all_subsets: How many the task has; NA where that is not known.
    """
    import pandas as pd

    if subset:
        return metric
    known = not pd.isna(all_subsets)
    if known and subsets < all_subsets:  # the run is not over, or was asked for some of them
        return f"mean {metric} of {subsets} of {all_subsets} subsets"
    return f"mean {metric}"
