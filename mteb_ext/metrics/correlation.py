"""Pearson and Spearman correlation in float64, of one pair of variables or of many at once.

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

__all__ = ["pearson", "pearson_batch", "spearman", "spearman_batch"]

_Float: TypeAlias = npt.NDArray[np.float64]


def pearson(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """Pearson's product-moment correlation of paired values.

    A variable is constant when all its float64 values are equal. One that varies in its last
    digits alone has a correlation, and it is computed correctly; whether those digits mean
    anything (a model that gives every pair 0.999 in float16 has few left) is for the caller to
    judge.

    Args:
        x: ``(n,)`` real numbers of any type.
        y: ``(n,)`` real numbers of any type, paired with ``x``.

    Returns:
        The correlation, from -1 to 1.

    Raises:
        UndefinedMetricError: The shapes differ or are not one-dimensional, there are fewer than
            2 pairs, a value is not finite, or a variable is constant.
    """
    return float(_pearson_rows(*_checked_pairs(x, y)))


def spearman(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """Spearman's rank correlation of paired values: Pearson's of their ranks.

    Tied values share the average of their ranks.

    Args:
        x: ``(n,)`` real numbers of any type.
        y: ``(n,)`` real numbers of any type, paired with ``x``.

    Returns:
        The correlation, from -1 to 1.

    Raises:
        UndefinedMetricError: As for `pearson`.
    """
    x, y = _checked_pairs(x, y)
    return float(_pearson_rows(rankdata(x), rankdata(y)))


def pearson_batch(x: npt.ArrayLike, y: npt.ArrayLike, axis: int = -1) -> _Float:
    """Pearson's correlations of many paired variables, for example of bootstrap resamples.

    Args:
        x: Finite real numbers of any type and shape.
        y: Finite real numbers of the same shape.
        axis: The axis of the pairs.

    Returns:
        The correlations, from -1 to 1, in the shape of ``x`` without ``axis``; nan where a
        variable is constant.
    """
    return _pearson_rows(_last_axis(x, axis), _last_axis(y, axis))


def spearman_batch(x: npt.ArrayLike, y: npt.ArrayLike, axis: int = -1) -> _Float:
    """Spearman's correlations of many paired variables, for example of bootstrap resamples.

    Args:
        x: Finite real numbers of any type and shape.
        y: Finite real numbers of the same shape.
        axis: The axis of the pairs.

    Returns:
        The correlations, from -1 to 1, in the shape of ``x`` without ``axis``; nan where a
        variable is constant.
    """
    ranks = (rankdata(_last_axis(values, axis), axis=-1) for values in (x, y))
    return _pearson_rows(*ranks)


def _pearson_rows(x: _Float, y: _Float) -> _Float:
    """Correlations along the last axis; nan where a variable is constant."""
    x, y = _deviations(x), _deviations(y)
    squares = (x * x).sum(axis=-1) * (y * y).sum(axis=-1)
    with np.errstate(invalid="ignore"):  # 0 / 0 for a constant, whose deviations are all 0
        correlation: _Float = (x * y).sum(axis=-1) / np.sqrt(squares)
    return np.clip(correlation, -1.0, 1.0)


def _deviations(values: _Float) -> _Float:
    """Deviations from the mean along the last axis, up to a positive factor.

    The factor, a power of two, brings the largest magnitude into [0.5, 1): the smallest possible
    spread is then 2**-54, whose square is far from underflow. The first value is subtracted
    before the mean because the difference of two numbers within a factor of two is exact
    (Sterbenz's lemma): a constant gives exact zeros, and a small spread far from zero keeps all
    its digits, where subtracting a rounded mean would lose them.
    """
    largest = np.maximum(values.max(axis=-1, keepdims=True), -values.min(axis=-1, keepdims=True))
    deviations: _Float = np.ldexp(values, -np.frexp(largest)[1])
    deviations -= deviations[..., :1].copy()
    deviations -= deviations.mean(axis=-1, keepdims=True)
    return deviations


def _last_axis(values: npt.ArrayLike, axis: int) -> _Float:
    return np.moveaxis(np.asarray(values, dtype=np.float64), axis, -1)


def _checked_pairs(x: npt.ArrayLike, y: npt.ArrayLike) -> tuple[_Float, _Float]:
    """Both variables as float64, or an error that says why they have no correlation."""
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if x.ndim != 1 or x.shape != y.shape:
        raise UndefinedMetricError(
            f"a correlation needs two one-dimensional arrays of one length, "
            f"but x has shape {x.shape} and y {y.shape}"
        )
    if x.size < 2:
        raise UndefinedMetricError(f"a correlation needs at least 2 pairs, not {x.size}")
    for name, values in (("x", x), ("y", y)):
        finite = np.isfinite(values)
        if not finite.all():
            i = int(np.argmin(finite))
            raise UndefinedMetricError(
                f"{name}[{i}] is {values[i]}: a correlation needs finite values"
            )
        if (values == values[0]).all():
            raise UndefinedMetricError(
                f"{name} is constant, all {values.size} values are {values[0]}: "
                "it has no correlation"
            )
    return x, y
