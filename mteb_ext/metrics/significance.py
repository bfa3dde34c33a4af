"""Confidence intervals of the headline scores, and tests of the difference of two models.

Every function that draws random numbers takes a seed and has a fixed default one, and sorts the
observations before it draws: a rerun gives the same digits, and so do the rows in another order.

Intervals are of 95%. Those of small samples are bootstrap intervals of the BCa kind
("bias-corrected and accelerated": Efron and Tibshirani, "An Introduction to the Bootstrap", 1993,
section 14.3). The percentile interval is simpler but assumes that some transformation of the
estimate has a constant spread and no bias; correlations near 1 and means of a few dozen skewed
query scores have neither. BCa corrects for both, and its coverage error falls with 1/n and not
1/sqrt(n). In large samples what it corrects is below the digits that anybody prints, and the
standard error by the infinitesimal jackknife gives the same ends in linear time (Jaeckel, "The
Infinitesimal Jackknife", 1972; Efron, "The Jackknife, the Bootstrap and Other Resampling Plans",
1982, chapter 6), for a correlation on the scale of Fisher's z, where its distribution is nearly
normal with a constant spread.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import special, stats

from mteb_ext.errors import UndefinedMetricError
from mteb_ext.metrics.arrays import Numbers, finite_numbers
from mteb_ext.metrics.correlation import (
    checked_pairs,
    deviations,
    pearson,
    pearson_of_rows,
    spearman,
)

__all__ = [
    "Interval",
    "Method",
    "Outcome",
    "PairedSample",
    "correlation_interval",
    "holm",
    "mean_correlation_interval",
    "mean_interval",
    "quick_correlation_interval",
    "williams_test",
]

Method = Literal["pearson", "spearman"]

_Int: TypeAlias = npt.NDArray[np.int64]
_Float: TypeAlias = npt.NDArray[np.float64]

_SEED = 0
_BOOTSTRAPPED = 4000  # observations, up to which the bootstrap is used
_DRAWS = 8_000_000  # observations drawn in all: a small sample is resampled more often,
_FEWEST, _MOST = 2000, 400_000  # within these numbers of resamples
_SHORT = 100  # observations, up to which numpy is faster adding resamples across than along
_SPREAD = 1e-3  # of a resample's mean square, from which on moments keep 13 digits
_BLOCK = 1 << 15  # observations drawn at a time: bounds the memory, and fits a CPU cache
_ROUNDING = 1e-9  # by which a singular correlation matrix may look impossible
_Z = float(special.ndtri(0.975))


class Interval(NamedTuple):
    """The ends of a 95% confidence interval."""

    low: float
    high: float


class Outcome(NamedTuple):
    """A test statistic and its p-value."""

    statistic: float
    p_value: float


def correlation_interval(
    x: npt.ArrayLike, y: npt.ArrayLike, method: Method = "pearson", *, seed: int = _SEED
) -> Interval:
    """95% interval of a correlation, over pairs.

    Args:
        x: ``(n,)`` real numbers.
        y: ``(n,)`` real numbers, paired with ``x``.
        method: The coefficient.
        seed: Seed of the resampling.

    Returns:
        The interval, within [-1, 1]. A bootstrap resample in which a variable is constant shows
        no association: its correlation counts as 0.

    Raises:
        UndefinedMetricError: The correlation is undefined (see `pearson`), or there are fewer
            than 3 pairs: 2 always correlate perfectly.
        ValueError: ``method`` is not as described.
    """
    return _interval_of_mean([PairedSample.of(x, y, method)], seed)


def quick_correlation_interval(
    x: npt.ArrayLike, y: npt.ArrayLike, method: Method = "pearson"
) -> Interval:
    """95% interval of a correlation from the influences of its pairs, without resampling.

    Where intervals are many and of secondary interest: `correlation_interval` takes a hundred times
    as long. The error is the infinitesimal jackknife's, on the scale of Fisher's z.

    Args:
        x: ``(n,)`` real numbers.
        y: ``(n,)`` real numbers, paired with ``x``.
        method: The coefficient.

    Raises:
        UndefinedMetricError: As for `correlation_interval`.
        ValueError: ``method`` is not as described.
    """
    r, influences = PairedSample.of(x, y, method).correlation_and_influences()
    return _fisher_interval(r, math.sqrt(float(np.mean(influences * influences)) / influences.size))


def mean_correlation_interval(
    subsets: Sequence[tuple[npt.ArrayLike, npt.ArrayLike]],
    method: Method = "pearson",
    *,
    seed: int = _SEED,
) -> Interval:
    """95% interval of the mean of the correlations of independent subsets.

    The subsets (the tracks or language pairs of a task) are fixed, and only their pairs are a
    sample: each resample draws pairs within every subset, and averages. This is the bootstrap of
    several samples; their common acceleration is Efron and Tibshirani's equation 15.36.

    Args:
        subsets: ``(x, y)`` of each subset, as for `correlation_interval`, in any order.
        method: The coefficient.
        seed: Seed of the resampling.

    Returns:
        The interval, within [-1, 1].

    Raises:
        UndefinedMetricError: There is no subset, or a subset is not fit for
            `correlation_interval`; the message gives its index.
        ValueError: ``method`` is not as described.
    """
    if not subsets:
        raise UndefinedMetricError("the mean of no correlations is undefined")
    pairs = []
    for i, (x, y) in enumerate(subsets):
        try:
            pairs.append(PairedSample.of(x, y, method))
        except UndefinedMetricError as error:
            raise UndefinedMetricError(f"subset {i}: {error}") from error
    return _interval_of_mean(pairs, seed)


def mean_interval(values: npt.ArrayLike, *, seed: int = _SEED) -> Interval:
    """95% interval of a mean, for example of MAP over queries.

    Args:
        values: ``(n,)`` real numbers, one for each query.
        seed: Seed of the resampling.

    Returns:
        The interval; both its ends are the mean when all values are equal.

    Raises:
        UndefinedMetricError: ``values`` is not one-dimensional and finite, or has fewer than 2
            values, which tell nothing of the spread.
    """
    array = np.sort(_checked_values(values))
    if array.size < 2:
        raise UndefinedMetricError(f"an interval needs at least 2 values, not {array.size}")
    if array.size <= _BOOTSTRAPPED:
        return _bca_interval([array], np.mean, seed)
    mean, error = float(array.mean()), float(stats.sem(array))
    return Interval(mean - _Z * error, mean + _Z * error)


def williams_test(r_jk: float, r_jh: float, r_kh: float, n: int) -> Outcome:
    """Williams' test of two correlations that share a variable, over the same observations.

    For two models: does ``k`` correlate better than ``h`` with the gold scores ``j``? The models'
    scores depend on each other, which the test takes into account by ``r_kh``. It is the test of
    Williams, "Regression Analysis" (1959), as given by Steiger, "Tests for Comparing Elements of
    a Correlation Matrix" (1980), equation 7, and used for metrics of machine translation by
    Graham and Baldwin (EMNLP 2014). It assumes normal variables and Pearson correlations.

    Args:
        r_jk: Correlation of the gold scores with the first model's.
        r_jh: Correlation of the gold scores with the second model's.
        r_kh: Correlation of the models' scores with each other.
        n: Number of observations.

    Returns:
        t, which is positive when ``r_jk`` is the larger, and the two-sided p by Student's
        distribution with ``n - 3`` degrees of freedom. Models whose scores are perfectly
        correlated do not differ: t is then 0.

    Raises:
        UndefinedMetricError: There are fewer than 4 observations, or no three variables have
            these correlations, or they leave no error variance (``r_kh`` is -1, for example).
    """
    if n < 4:
        raise UndefinedMetricError(f"Williams' test needs at least 4 observations, not {n}")
    difference = r_jk - r_jh
    # The determinant 1 - r_jk**2 - r_jh**2 - r_kh**2 + 2 * r_jk * r_jh * r_kh of the correlation
    # matrix, in a form that does not cancel when the models are nearly the same.
    determinant = (1 - r_kh) * (1 + r_kh - 2 * r_jk * r_jh) - difference**2
    if not (max(abs(r_jk), abs(r_jh), abs(r_kh)) <= 1 and determinant > -_ROUNDING):
        raise UndefinedMetricError(
            f"no three variables have the correlations {r_jk}, {r_jh} and {r_kh}"
        )
    spread = 2 * max(determinant, 0.0) * (n - 1) / (n - 3)
    spread += ((r_jk + r_jh) / 2) ** 2 * (1 - r_kh) ** 3
    if r_kh == 1:
        t = 0.0
    elif r_kh == -1 or spread == 0:
        raise UndefinedMetricError(
            f"Williams' test is undefined for the correlations {r_jk}, {r_jh} and {r_kh}: "
            "the variables are linearly dependent"
        )
    else:
        t = difference * math.sqrt((n - 1) * (1 + r_kh) / spread)
    return Outcome(t, float(2 * stats.t.sf(abs(t), n - 3)))


def holm(p_values: npt.ArrayLike) -> _Float:
    """Holm's step-down correction: adjusted p-values that control the family-wise error rate.

    Holm, "A Simple Sequentially Rejective Multiple Test Procedure" (1979). Valid for tests that
    depend on each other in any way, as comparisons with a common model do.

    Args:
        p_values: ``(m,)`` p-values.

    Returns:
        ``(m,)`` adjusted p-values in the same order: reject those not above the wanted level.

    Raises:
        ValueError: A p-value is not between 0 and 1.
    """
    p = _checked_p_values(p_values)
    order = np.argsort(p)
    adjusted = np.empty_like(p)
    adjusted[order] = np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1))
    return np.minimum(adjusted, 1.0)


def _coefficient(method: Method) -> Callable[[npt.ArrayLike, npt.ArrayLike], float]:
    coefficients = {"pearson": pearson, "spearman": spearman}
    if method not in coefficients:
        raise ValueError(f"method must be pearson or spearman, not {method!r}")
    return coefficients[method]


class PairedSample(NamedTuple):
    """A sample of pairs in a form that is cheap to resample.

    For Spearman ``x`` and ``y`` are the number of each value among the distinct ones, so that
    ranking a resample takes counting and no sorting.
    """

    x: Numbers
    y: Numbers
    ranked: bool

    @classmethod
    def of(cls, x: npt.ArrayLike, y: npt.ArrayLike, method: Method) -> PairedSample:
        """The pairs of ``x`` and ``y``, at least 3 that have a correlation."""
        _coefficient(method)
        x, y = checked_pairs(x, y)
        if x.size < 3:
            raise UndefinedMetricError(f"an interval needs at least 3 pairs, not {x.size}")
        if method == "spearman":
            x, y = (np.unique(values, return_inverse=True)[1] for values in (x, y))
        return cls(x, y, ranked=method == "spearman")

    def sorted(self) -> PairedSample:
        """The pairs in an order that does not depend on the one in which they came."""
        order = np.lexsort((self.y, self.x))
        x, y = self.x[order], self.y[order]
        return (
            PairedSample(x, y, True)
            if self.ranked
            else PairedSample(deviations(x), deviations(y), False)
        )

    def correlations(self, rows: _Int) -> _Float:
        """The correlation of each resample, ``(..., m)`` indices of pairs."""
        if self.ranked or rows.shape[-1] <= _SHORT:
            return self._by_values(rows)
        found, doubtful = self._by_counts(rows)
        if doubtful.any():
            found[doubtful] = self._by_values(rows[doubtful])
        return found

    def _by_values(self, rows: _Int) -> _Float:
        x, y = self.x[rows], self.y[rows]
        if self.ranked:
            x, y = _average_ranks(x), _average_ranks(y)
        if rows.shape[-1] <= _SHORT:
            x, y = np.asfortranarray(x), np.asfortranarray(y)
        return np.nan_to_num(pearson_of_rows(x, y), nan=0.0)

    def _by_counts(self, rows: _Int) -> tuple[_Float, npt.NDArray[np.bool_]]:
        """Correlations from how often each pair was drawn: a third of the time of `_by_values`.

        Returns:
            ``(...)`` the correlations, and where they are not to be trusted: the spread of a
            resample is so small beside its mean that the difference of moments loses digits.
        """
        x, y = self.x, self.y
        flat = rows.reshape(-1, rows.shape[-1])
        cells = flat + x.size * np.arange(len(flat))[:, np.newaxis]
        counts = np.bincount(cells.ravel(), minlength=x.size * len(flat)).reshape(-1, x.size)
        sums = counts.astype(np.float64) @ np.stack([x, y, x * x, y * y, x * y], axis=1)
        of_x, of_y, squares_x, squares_y, products = sums.T
        m = flat.shape[1]
        spread_x, spread_y = squares_x - of_x * of_x / m, squares_y - of_y * of_y / m
        doubtful = (spread_x <= _SPREAD * squares_x) | (spread_y <= _SPREAD * squares_y)
        with np.errstate(invalid="ignore", divide="ignore"):
            found = (products - of_x * of_y / m) / np.sqrt(spread_x * spread_y)
        shape = rows.shape[:-1]
        return np.clip(found, -1.0, 1.0).reshape(shape), doubtful.reshape(shape)

    def correlation_and_influences(self) -> tuple[float, _Float]:
        """The correlation of the whole sample, and the influence of each pair on it.

        The influences add up to 0. Their variance over their number is the correlation's, by the
        infinitesimal jackknife. A pair moves Spearman's correlation by its own ranks, as it moves
        Pearson's by its values, and by lifting the ranks of the pairs above it.
        """
        x, y = self.x, self.y
        if self.ranked:
            x, y = _average_ranks(x), _average_ranks(y)
        x, y = deviations(x), deviations(y)
        x, y = x / math.sqrt(np.mean(x * x)), y / math.sqrt(np.mean(y * y))
        r = float(np.mean(x * y))
        influences = x * y - r / 2 * (x * x + y * y)
        if self.ranked:
            influences += _lifted(self.x, y - r * x) + _lifted(self.y, x - r * y)
        return r, influences

    def correlation_and_jackknife(self) -> tuple[float, _Float]:
        """The correlation, and how far it moves if each pair is left out, times n - 1.

        Their variance over their number is the jackknife's. Unlike the infinitesimal one it sees
        how far an outlier moves Pearson's coefficient. An outlier's rank moves Spearman's little,
        whose influences are those of `correlation_and_influences`.
        """
        r, influences = self.correlation_and_influences()
        if self.ranked:
            return r, influences
        x, y = deviations(self.x), deviations(self.y)
        x, y = x / math.sqrt(np.mean(x * x)), y / math.sqrt(np.mean(y * y))
        rest = x.size - 1
        squares = np.maximum(1 - x * x / rest, 0) * np.maximum(1 - y * y / rest, 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            without = (r - x * y / rest) / np.sqrt(squares)
        without[squares < _ROUNDING] = 0.0  # what is left is constant, and shows no association
        return r, rest * (without.mean() - without)


def _average_ranks(codes: _Int) -> _Float:
    """Average ranks along the last axis of small natural numbers, by counting."""
    flat = codes.reshape(-1, codes.shape[-1])
    n_rows, n_codes = flat.shape[0], flat.max() + 1
    cells = flat + n_codes * np.arange(n_rows)[:, np.newaxis]
    count = np.bincount(cells.ravel(), minlength=n_rows * n_codes).reshape(n_rows, n_codes)
    rank_of_code = np.cumsum(count, axis=1) - (count - 1) / 2
    ranks: _Float = rank_of_code.take(cells)
    return ranks.reshape(codes.shape)


def _lifted(codes: _Int, weights: _Float) -> _Float:
    """For each pair, the sum of the weights of the pairs above it and of half of its ties.

    The weights add up to 0; the unit is the standard deviation of the ranks.
    """
    sums = np.bincount(codes, weights)
    above: _Float = (sums / 2 - np.cumsum(sums))[codes] / _average_ranks(codes).std()
    return above


def _interval_of_mean(samples: Sequence[PairedSample], seed: int) -> Interval:
    """Interval of the mean of the samples' correlations."""
    if sum(sample.x.size for sample in samples) > _BOOTSTRAPPED:
        whole = [sample.correlation_and_influences() for sample in samples]
        variance = sum(float(np.mean(u * u)) / u.size for _, u in whole)
        r = float(np.mean([r for r, _ in whole]))
        return _fisher_interval(r, math.sqrt(variance) / len(samples))
    samples = [sample.sorted() for sample in samples]  # so that rows may come in any order
    samples.sort(key=lambda sample: (sample.x.tobytes(), sample.y.tobytes()))

    def mean_correlation(*rows: _Int, axis: int) -> _Float:
        # To leave out a pair of one sample scipy repeats the others, which are computed once.
        once = (drawn if drawn.strides[0] else drawn[:1] for drawn in rows)
        of_each = [s.correlations(drawn) for s, drawn in zip(samples, once, strict=True)]
        total: _Float = sum(of_each[1:], start=of_each[0])
        return total / len(samples)

    return _bca_interval([np.arange(s.x.size) for s in samples], mean_correlation, seed)


def _fisher_interval(r: float, error: float) -> Interval:
    """Interval of a correlation with a standard error, on the scale of Fisher's z = artanh(r)."""
    r = min(max(r, -1.0), 1.0)
    if error == 0 or abs(r) == 1:
        return Interval(r, r)
    z, margin = math.atanh(r), _Z * error / (1 - r * r)
    return Interval(math.tanh(z - margin), math.tanh(z + margin))


def _bca_interval(
    samples: Sequence[Numbers], statistic: Callable[..., _Float], seed: int
) -> Interval:
    """BCa interval of a statistic of independent samples.

    BCa has no value where the replicates do not vary, or lie all on one side of the estimate;
    the percentile interval then stands, which is a point if they are all equal.
    """
    sizes = [sample.size for sample in samples]
    with warnings.catch_warnings(), np.errstate(divide="ignore", invalid="ignore"):
        warnings.simplefilter("ignore", stats.DegenerateDataWarning)
        result = stats.bootstrap(
            samples,
            statistic,
            vectorized=True,
            n_resamples=int(np.clip(_DRAWS // sum(sizes), _FEWEST, _MOST)),
            batch=max(1, _BLOCK // max(sizes)),
            random_state=np.random.default_rng(seed),
        )
    ends = result.confidence_interval
    if np.isnan(ends).any():
        ends = np.quantile(result.bootstrap_distribution, [0.025, 0.975])
    return Interval(*map(float, ends))


def _checked_values(values: npt.ArrayLike) -> _Float:
    array = finite_numbers(values, "values", "value {}".format)
    if array.ndim != 1:
        raise UndefinedMetricError(f"values must be one-dimensional, not of shape {array.shape}")
    return array.astype(np.float64)


def _checked_p_values(p_values: npt.ArrayLike) -> _Float:
    p = np.asarray(p_values, dtype=np.float64)
    if p.ndim != 1 or not ((p >= 0) & (p <= 1)).all():
        raise ValueError("p-values must be a one-dimensional array of numbers from 0 to 1")
    return p
