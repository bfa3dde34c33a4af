"""Two disjoint sets of items under one model: whether its score on them differs.

The tests are permutation tests: under the null hypothesis the items are exchangeable, so that a
random part of them would differ as much. Small p-values say that the sets differ, and not why: one
set may also be easier than the other.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import stats

from mteb_ext.errors import UndefinedMetricError
from mteb_ext.metrics.significance import Method, PairedSample

__all__ = ["Difference", "correlation_difference", "mean_difference"]

_Float: TypeAlias = npt.NDArray[np.float64]

_SEED = 0
_DRAWS = 4999
_BATCH = 500  # permutations at a time: bounds the memory
_LARGEST = 1 - 1e-12  # of a correlation, on the scale of Fisher's z


class Difference(NamedTuple):
    """The first set's score minus the second's, and its two-sided p-value, above 0."""

    difference: float
    p: float


def mean_difference(
    first: npt.ArrayLike, second: npt.ArrayLike, *, seed: int = _SEED
) -> Difference:
    """Test the difference of two means, for example of MAP over seen and unseen queries.

    The statistic is Welch's t, which keeps the level in large samples also where the two sets have
    one mean and different spreads (Janssen, "Studentized permutation tests for non-i.i.d.
    hypotheses and the generalized Behrens-Fisher problem", 1997).

    Args:
        first: ``(n,)`` values.
        second: ``(m,)`` values.
        seed: Seed of the permutations.

    Raises:
        UndefinedMetricError: If a set has fewer than 2 values.
    """
    a, b = (np.sort(np.asarray(values, np.float64)) for values in (first, second))
    if min(a.size, b.size) < 2:
        raise UndefinedMetricError("a difference of means needs at least 2 values in each set")
    difference = float(a.mean() - b.mean())
    if np.ptp(np.concatenate([a, b])) == 0:
        return Difference(0.0, 1.0)
    return Difference(difference, _permutation_p((a, b), _welch, seed))


def _welch(a: _Float, b: _Float, axis: int) -> _Float:
    error = a.var(axis=axis, ddof=1) / a.shape[axis] + b.var(axis=axis, ddof=1) / b.shape[axis]
    difference = a.mean(axis=axis) - b.mean(axis=axis)
    with np.errstate(divide="ignore", invalid="ignore"):
        t: _Float = np.where(difference == 0, 0.0, difference / np.sqrt(error))
    return t


def correlation_difference(
    first: tuple[npt.ArrayLike, npt.ArrayLike],
    second: tuple[npt.ArrayLike, npt.ArrayLike],
    method: Method = "pearson",
    *,
    seed: int = _SEED,
) -> Difference:
    """Test the difference of the correlations of two sets of pairs.

    The statistic is the difference on the scale of Fisher's z.

    Args:
        first: ``(x, y)`` of the first set.
        second: ``(x, y)`` of the second.
        method: The coefficient.
        seed: Seed of the permutations.

    Raises:
        UndefinedMetricError: If a set has no correlation, or fewer than 3 pairs.
    """
    sets = [PairedSample.of(*pairs, method) for pairs in (first, second)]
    rows = [np.arange(one.x.size) for one in sets]
    found = [float(one.correlations(here)) for one, here in zip(sets, rows, strict=True)]
    variables = zip(first, second, strict=True)
    x, y = (np.concatenate([np.asarray(a), np.asarray(b)]) for a, b in variables)
    pooled = PairedSample.of(x, y, method)
    order = np.lexsort((pooled.y, pooled.x, np.repeat([0, 1], [r.size for r in rows])))

    def difference(a: Any, b: Any, axis: int) -> _Float:  # noqa: ANN401 - arrays of rows
        z = [np.arctanh(np.clip(pooled.correlations(r), -_LARGEST, _LARGEST)) for r in (a, b)]
        result: _Float = z[0] - z[1]
        return result

    p = _permutation_p((order[: rows[0].size], order[rows[0].size :]), difference, seed)
    return Difference(found[0] - found[1], p)


def _permutation_p(samples: Any, statistic: Any, seed: int) -> float:  # noqa: ANN401 - as scipy's
    result = stats.permutation_test(
        samples,
        statistic,
        vectorized=True,
        n_resamples=_DRAWS,
        batch=_BATCH,
        random_state=np.random.default_rng(seed),
    )
    return float(result.pvalue)
