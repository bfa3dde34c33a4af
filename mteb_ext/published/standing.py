"""Where a score stands among published ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import pandas as pd


def compare_as_printed(score: float, value: float, decimals: int) -> int:
    """Compare a score with a published value, at the precision that the value was printed with.

    Args:
        score: Ours, on the 0-1 scale.
        value: The published one, on the 0-1 scale.
        decimals: How many of its decimals the print gives: 3 for .435, 4 for an r x 100 of 71.17.

    Returns:
        1 if ours is higher, -1 if it is lower, 0 if it would be printed alike.
    """
    ours = round(score, decimals)
    return (ours > value) - (ours < value)


class Standing(NamedTuple):
    """Where a score stands among published ones.

    Attributes:
        better: How many are strictly better, each at its printed precision.
        of: How many it was compared with.
        ambiguous: How many were left out, since it is not settled that they follow our variant.
    """

    better: int
    of: int
    ambiguous: int


def standing(score: float, published: pd.DataFrame) -> Standing:
    """Count the published numbers that are better than a score.

    Args:
        score: Ours, on the 0-1 scale.
        published: Published numbers of the same task, subset, metric and variant: rows of
            `published_for`.
    """
    settled = published[~published["ambiguous"]]
    pairs = zip(settled["value"], settled["decimals"], strict=True)
    better = sum(compare_as_printed(score, value, decimals) < 0 for value, decimals in pairs)
    return Standing(better, len(settled), len(published) - len(settled))
