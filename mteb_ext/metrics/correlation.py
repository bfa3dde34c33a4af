"""Pearson and Spearman correlation, exact whatever the type, offset and unit of the scores.

Model scores come in many types and scales: float16 similarities that all lie near 1, int8 dot
products, distances in the thousands. Both coefficients are unchanged by shifting and scaling a
variable, so each variable is first brought to a common scale by exact operations. The result is
then the correlation of the numbers as given, to rounding error, whatever their offset and unit.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from mteb_ext.errors import UndefinedMetricError
from mteb_ext.metrics.arrays import Numbers, finite_numbers

__all__ = ["checked_pairs", "deviations", "pearson", "pearson_of_rows", "spearman"]

_Float: TypeAlias = npt.NDArray[np.float64]


def pearson(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """Pearson's product-moment correlation of paired values.

    A variable is constant when all its values are equal. One that varies in its last digits alone
    has a correlation, and it is computed correctly; whether those digits mean anything (a model
    that gives every pair 0.999 in float16 has few left) is for the caller to judge.

    Args:
        x: ``(n,)`` real numbers of any type.
        y: ``(n,)`` real numbers of any type, paired with ``x``.

    Returns:
        The correlation, from -1 to 1.

    Raises:
        UndefinedMetricError: The shapes differ or are not one-dimensional, there are fewer than
            2 pairs, a value is masked or not a finite real number, or a variable is constant.
    """
    return float(pearson_of_rows(*checked_pairs(x, y)))


def spearman(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """Spearman's rank correlation of paired values: Pearson's of their ranks.

    Tied values share the average of their ranks. Whether values tie is judged in the type that
    they have.

    Args:
        x: ``(n,)`` real numbers of any type.
        y: ``(n,)`` real numbers of any type, paired with ``x``.

    Returns:
        The correlation, from -1 to 1.

    Raises:
        UndefinedMetricError: As for `pearson`.
    """
    x, y = checked_pairs(x, y)
    return float(pearson_of_rows(_ranks(x), _ranks(y)))


def _ranks(values: Numbers) -> Numbers:
    # scipy from 1.18 on gives ranks in the type of the values, and float16 ends at 2048.
    narrow = values.dtype.itemsize < 8
    ranks: Numbers = rankdata(values.astype(np.float64) if narrow else values)
    return ranks


def pearson_of_rows(x: Numbers, y: Numbers) -> _Float:
    """Pearson's correlations along the last axis; nan where a variable is constant."""
    x, y = deviations(x), deviations(y)
    squares = (x * x).sum(axis=-1) * (y * y).sum(axis=-1)
    with np.errstate(invalid="ignore"):  # 0 / 0 for a constant, whose deviations are all 0
        correlation: _Float = (x * y).sum(axis=-1) / np.sqrt(squares)
    return np.clip(correlation, -1.0, 1.0)


def deviations(values: Numbers) -> _Float:
    """Deviations from the mean along the last axis, up to a positive factor.

    The factor, a power of two, brings the largest magnitude into [0.5, 1): the smallest possible
    spread is then 2**-54, whose square is far from underflow. The first value is subtracted
    before the mean because the difference of two numbers within a factor of two is exact
    (Sterbenz's lemma): a constant gives exact zeros, and a small spread far from zero keeps all
    its digits, where subtracting a rounded mean would lose them. Up to there the numbers are in a
    type that holds them exactly, which for large integers is wider than float64.
    """
    small = values.dtype.itemsize < 8 or values.dtype == np.float64
    values = np.asarray(values, dtype=np.float64 if small else np.longdouble)
    largest = np.maximum(values.max(axis=-1, keepdims=True), -values.min(axis=-1, keepdims=True))
    scaled = np.ldexp(values, -np.frexp(largest)[1])
    scaled -= scaled[..., :1].copy()
    result: _Float = scaled.astype(np.float64, copy=False)
    result -= result.mean(axis=-1, keepdims=True)
    return result


def checked_pairs(x: npt.ArrayLike, y: npt.ArrayLike) -> tuple[Numbers, Numbers]:
    """Both variables in their own types, or an error that says why they have no correlation."""
    x = finite_numbers(x, "x", "x[{}]".format)
    y = finite_numbers(y, "y", "y[{}]".format)
    if x.ndim != 1 or x.shape != y.shape:
        raise UndefinedMetricError(
            f"a correlation needs two one-dimensional arrays of one length, "
            f"but x has shape {x.shape} and y {y.shape}"
        )
    if x.size < 2:
        raise UndefinedMetricError(f"a correlation needs at least 2 pairs, not {x.size}")
    for name, values in (("x", x), ("y", y)):
        if (values == values[0]).all():
            raise UndefinedMetricError(
                f"{name} is constant, all {values.size} values are {values[0]}: "
                "it has no correlation"
            )
    return x, y
