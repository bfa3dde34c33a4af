"""Confidence intervals of the headline scores, and tests of the difference of two models.

Every function that draws random numbers takes a seed and has a fixed default one, so that a rerun
gives the same digits.

Intervals are bootstrap intervals of the BCa kind ("bias-corrected and accelerated": Efron and
Tibshirani, "An Introduction to the Bootstrap", 1993, section 14.3). The percentile interval is
simpler but assumes that some transformation of the estimate has a constant spread and no bias;
correlations near 1 and means of a few dozen skewed query scores have neither. BCa corrects for
both, its coverage error falls with 1/n and not 1/sqrt(n), and it remains invariant to
transformations. Its price is a jackknife, in groups where the sample is large.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import special, stats

from mteb_ext.errors import UndefinedMetricError
from mteb_ext.metrics.correlation import pearson, pearson_batch, spearman

__all__ = [
    "Alternative",
    "Interval",
    "Method",
    "Outcome",
    "benjamini_hochberg",
    "compare_correlations",
    "correlation_interval",
    "holm",
    "mean_correlation_interval",
    "mean_interval",
    "paired_randomization_test",
    "williams_test",
]

Alternative = Literal["two-sided", "greater", "less"]
Method = Literal["pearson", "spearman"]

_Int: TypeAlias = npt.NDArray[np.int64]
_Float: TypeAlias = npt.NDArray[np.float64]

_SEED = 0
_RESAMPLES = 2000
_SINGLE = 4000  # up to this size of a sample the jackknife leaves out single observations,
_GROUPS = 1000  # beyond it so many groups
_ROUNDING = 1e-9  # by which a singular correlation matrix may look impossible
_BLOCK = 1 << 14  # numbers resampled at a time: bounds the memory, and fits a CPU cache


class Interval(NamedTuple):
    """The ends of a confidence interval."""

    low: float
    high: float


class Outcome(NamedTuple):
    """A test statistic and its p-value."""

    statistic: float
    p_value: float


class _Sample(NamedTuple):
    """Independent observations and a statistic of them.

    ``statistic`` maps ``(B, m)`` indices of observations, a resample in each row, to ``(B,)``
    values, nan where the statistic is undefined.
    """

    size: int
    statistic: Callable[[_Int], _Float]


def correlation_interval(
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    method: Method = "pearson",
    *,
    confidence: float = 0.95,
    n_resamples: int = _RESAMPLES,
    seed: int = _SEED,
) -> Interval:
    """BCa bootstrap interval of a correlation, over pairs.

    Args:
        x: ``(n,)`` real numbers.
        y: ``(n,)`` real numbers, paired with ``x``.
        method: The coefficient.
        confidence: The coverage aimed at, between 0 and 1.
        n_resamples: Number of bootstrap resamples; not fewer than 1000 for an interval.
        seed: Seed of the resampling.

    Returns:
        The interval, within [-1, 1]. Resamples in which a variable is constant have no
        correlation and are left out.

    Raises:
        UndefinedMetricError: The correlation is undefined (see `pearson`), or there are fewer
            than 3 pairs: 2 always correlate perfectly.
        ValueError: ``method``, ``confidence`` or ``n_resamples`` is not as described.
    """
    return _bca_interval([_correlation_sample(x, y, method)], confidence, n_resamples, seed)


def mean_correlation_interval(
    subsets: Sequence[tuple[npt.ArrayLike, npt.ArrayLike]],
    method: Method = "pearson",
    *,
    confidence: float = 0.95,
    n_resamples: int = _RESAMPLES,
    seed: int = _SEED,
) -> Interval:
    """BCa bootstrap interval of the mean of the correlations of independent subsets.

    The subsets (the tracks or language pairs of a task) are fixed, and only their pairs are a
    sample: each resample draws pairs within every subset, and averages. This is the bootstrap of
    several samples; their common acceleration is Efron and Tibshirani's equation 15.36.

    Args:
        subsets: ``(x, y)`` of each subset, as for `correlation_interval`.
        method: The coefficient.
        confidence: The coverage aimed at, between 0 and 1.
        n_resamples: Number of bootstrap resamples; not fewer than 1000 for an interval.
        seed: Seed of the resampling.

    Returns:
        The interval, within [-1, 1].

    Raises:
        UndefinedMetricError: There is no subset, or a subset is not fit for
            `correlation_interval`; the message gives its index.
        ValueError: ``method``, ``confidence`` or ``n_resamples`` is not as described.
    """
    if not subsets:
        raise UndefinedMetricError("the mean of no correlations is undefined")
    samples = []
    for i, (x, y) in enumerate(subsets):
        try:
            samples.append(_correlation_sample(x, y, method))
        except UndefinedMetricError as error:
            raise UndefinedMetricError(f"subset {i}: {error}") from error
    return _bca_interval(samples, confidence, n_resamples, seed)


def mean_interval(
    values: npt.ArrayLike,
    *,
    confidence: float = 0.95,
    n_resamples: int = _RESAMPLES,
    seed: int = _SEED,
) -> Interval:
    """BCa bootstrap interval of a mean, for example of MAP over queries.

    Args:
        values: ``(n,)`` real numbers, one for each query.
        confidence: The coverage aimed at, between 0 and 1.
        n_resamples: Number of bootstrap resamples; not fewer than 1000 for an interval.
        seed: Seed of the resampling.

    Returns:
        The interval; both its ends are the mean when all values are equal.

    Raises:
        UndefinedMetricError: ``values`` is not one-dimensional and finite, or has fewer than 2
            values, which tell nothing of the spread.
        ValueError: ``confidence`` or ``n_resamples`` is not as described.
    """
    array = _checked_values(values)
    if array.size < 2:
        raise UndefinedMetricError(f"an interval needs at least 2 values, not {array.size}")
    sample = _Sample(array.size, lambda rows: array[rows].mean(axis=1))
    return _bca_interval([sample], confidence, n_resamples, seed)


def williams_test(
    r_jk: float,
    r_jh: float,
    r_kh: float,
    n: int,
    *,
    alternative: Alternative = "two-sided",
) -> Outcome:
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
        alternative: ``"greater"`` tests for ``r_jk > r_jh``, ``"less"`` for ``r_jk < r_jh``.

    Returns:
        t, which is positive when ``r_jk`` is the larger, and p by Student's distribution with
        ``n - 3`` degrees of freedom. Models whose scores are perfectly correlated do not differ:
        t is then 0.

    Raises:
        UndefinedMetricError: There are fewer than 4 observations, or no three variables have
            these correlations, or they leave no error variance (``r_kh`` is -1, for example).
        ValueError: ``alternative`` is not as described.
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
    p = {
        "two-sided": 2 * stats.t.sf(abs(t), n - 3),
        "greater": stats.t.sf(t, n - 3),
        "less": stats.t.cdf(t, n - 3),
    }
    if alternative not in p:
        raise ValueError(f"alternative must be one of {', '.join(p)}, not {alternative!r}")
    return Outcome(t, float(p[alternative]))


def compare_correlations(
    gold: npt.ArrayLike,
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    method: Method = "pearson",
    *,
    alternative: Alternative = "two-sided",
) -> Outcome:
    """Williams' test of two models' correlations with the same gold scores.

    Args:
        gold: ``(n,)`` gold scores.
        first: ``(n,)`` scores of the first model.
        second: ``(n,)`` scores of the second model.
        method: The coefficient. For ``"spearman"`` the test is an approximation: it is derived
            for Pearson correlations of normal variables.
        alternative: ``"greater"`` tests whether the first model correlates better, ``"less"``
            whether the second does.

    Returns:
        As for `williams_test`; t is positive when the first model correlates better.

    Raises:
        UndefinedMetricError: A correlation or the test is undefined.
        ValueError: ``method`` or ``alternative`` is not as described.
    """
    correlation = _coefficient(method)
    return williams_test(
        correlation(gold, first),
        correlation(gold, second),
        correlation(first, second),
        np.size(gold),
        alternative=alternative,
    )


def paired_randomization_test(
    values_a: npt.ArrayLike,
    values_b: npt.ArrayLike,
    *,
    alternative: Alternative = "two-sided",
    n_resamples: int = 9999,
    seed: int = _SEED,
) -> Outcome:
    """Randomization test of the difference of two models' mean scores over the same queries.

    If the models do not differ, the sign of each query's difference is a coin toss (Fisher's
    randomization test; Smucker, Allan and Carterette, CIKM 2007, recommend it for MAP).

    Args:
        values_a: ``(n,)`` scores of the first model, one for each query.
        values_b: ``(n,)`` scores of the second model for the same queries.
        alternative: ``"greater"`` tests whether the first model's mean is the larger, ``"less"``
            whether the second's is.
        n_resamples: Number of random sign assignments; all ``2**n`` are used instead when they
            are not more, and p is then exact.
        seed: Seed of the assignments.

    Returns:
        The difference of the means, positive when the first model's is larger, and p.

    Raises:
        UndefinedMetricError: The lengths differ, there are fewer than 2 queries, or a value is not
            finite.
        ValueError: ``alternative`` is not as described.
    """
    a, b = _checked_values(values_a), _checked_values(values_b)
    if a.size != b.size or a.size < 2:
        raise UndefinedMetricError(
            f"a paired test needs scores of the same queries, at least 2, not {a.size} and {b.size}"
        )
    differences = a - b
    scale = np.abs(differences).mean() or 1.0

    def rounded_mean(signed: _Float, axis: int) -> _Float:
        # Sums that are equal but for the rounding of their terms must count as equal.
        rounded: _Float = np.round(signed.mean(axis=axis) / scale, 12)
        return rounded

    # For a single sample scipy flips signs, which is what swapping the models of a query does.
    result = stats.permutation_test(
        (differences,),
        rounded_mean,
        permutation_type="samples",
        vectorized=True,
        n_resamples=n_resamples,
        batch=max(1, _BLOCK // a.size),
        alternative=alternative,
        random_state=np.random.default_rng(seed),
    )
    return Outcome(float(differences.mean()), float(result.pvalue))


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


def benjamini_hochberg(p_values: npt.ArrayLike) -> _Float:
    """Benjamini and Hochberg's correction: adjusted p-values that control the false discovery rate.

    Benjamini and Hochberg, "Controlling the False Discovery Rate" (1995). Valid for tests that
    are independent or positively dependent.

    Args:
        p_values: ``(m,)`` p-values.

    Returns:
        ``(m,)`` adjusted p-values in the same order: reject those not above the wanted level.

    Raises:
        ValueError: A p-value is not between 0 and 1.
    """
    adjusted: _Float = stats.false_discovery_control(_checked_p_values(p_values), method="bh")
    return adjusted


def _coefficient(method: Method) -> Callable[[npt.ArrayLike, npt.ArrayLike], float]:
    coefficients = {"pearson": pearson, "spearman": spearman}
    if method not in coefficients:
        raise ValueError(f"method must be pearson or spearman, not {method!r}")
    return coefficients[method]


def _correlation_sample(x: npt.ArrayLike, y: npt.ArrayLike, method: Method) -> _Sample:
    _coefficient(method)(x, y)  # raises unless the correlation is defined
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if x.size < 3:
        raise UndefinedMetricError(f"an interval needs at least 3 pairs, not {x.size}")
    if method == "pearson":
        return _Sample(x.size, lambda rows: pearson_batch(x[rows], y[rows]))
    x_codes, y_codes = (np.unique(values, return_inverse=True)[1] for values in (x, y))
    return _Sample(
        x.size,
        lambda rows: pearson_batch(_average_ranks(x_codes[rows]), _average_ranks(y_codes[rows])),
    )


def _average_ranks(codes: _Int) -> _Float:
    """Average ranks within the rows of ``(B, m)`` small natural numbers, by counting.

    The codes of a sample's values are computed once; ranking a resample then takes no sorting.
    """
    n_rows, n_codes = codes.shape[0], codes.max() + 1
    cells = codes + n_codes * np.arange(n_rows)[:, np.newaxis]
    count = np.bincount(cells.ravel(), minlength=n_rows * n_codes).reshape(n_rows, n_codes)
    rank_of_code = np.cumsum(count, axis=1) - (count - 1) / 2
    ranks: _Float = rank_of_code.take(cells)
    return ranks


def _bca_interval(
    samples: Sequence[_Sample], confidence: float, n_resamples: int, seed: int
) -> Interval:
    """BCa interval of the mean of the samples' statistics (Efron and Tibshirani, section 14.3).

    Not `scipy.stats.bootstrap`, which gives nan when the statistic is undefined for one resample,
    and evaluates all samples anew for each observation that it leaves out of one.
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1, not {confidence}")
    if n_resamples < 1:
        raise ValueError(f"n_resamples must be at least 1, not {n_resamples}")
    random = np.random.default_rng(seed)
    replicates = np.mean([_resampled(sample, n_resamples, random) for sample in samples], axis=0)
    replicates = replicates[~np.isnan(replicates)]
    if not replicates.size:
        raise UndefinedMetricError("the statistic is undefined in every bootstrap resample")
    estimate = np.mean([sample.statistic(np.arange(sample.size)[np.newaxis]) for sample in samples])
    # Half of the replicates equal to the estimate count as below it; a share of 0 or 1 would make
    # the bias infinite.
    below = ((replicates < estimate).mean() + (replicates <= estimate).mean()) / 2
    margin = 0.5 / replicates.size
    bias = special.ndtri(np.clip(below, margin, 1 - margin))
    z = bias + special.ndtri([(1 - confidence) / 2, (1 + confidence) / 2])
    low, high = np.quantile(replicates, special.ndtr(bias + z / (1 - _acceleration(samples) * z)))
    return Interval(float(low), float(high))


def _resampled(sample: _Sample, n_resamples: int, random: np.random.Generator) -> _Float:
    """The statistic of each of ``n_resamples`` bootstrap resamples."""
    blocks = (
        random.integers(sample.size, size=(rows.size, sample.size))
        for rows in _row_blocks(n_resamples, sample.size)
    )
    return np.concatenate([sample.statistic(block) for block in blocks])


def _jackknifed(sample: _Sample) -> _Float:
    """The statistic without each observation in turn, or without each group of a large sample.

    Leaving out single observations takes time that grows with the square of their number. Groups
    of equal size, each spread over the whole sample, estimate the same acceleration.
    """
    n_groups = sample.size if sample.size <= _SINGLE else _GROUPS
    each = sample.size // n_groups
    first_of_group = np.arange(n_groups)
    left_out = first_of_group[:, np.newaxis] + n_groups * np.arange(each)
    statistics = []
    for rows in _row_blocks(n_groups, sample.size):
        kept = np.ones((rows.size, sample.size), dtype=np.bool_)
        np.put_along_axis(kept, left_out[rows], values=False, axis=1)
        block = np.nonzero(kept)[1].reshape(rows.size, sample.size - each)
        statistics.append(sample.statistic(block))
    return np.concatenate(statistics)


def _acceleration(samples: Sequence[_Sample]) -> float:
    """A sixth of the skewness of the estimate, by the jackknife.

    It is 0, no correction, for an estimate without spread, or without a value when some single
    observation is missing. Efron and Tibshirani, equation 14.15, and 15.36 for several samples.
    """
    influences = []
    for sample in samples:
        without = _jackknifed(sample)
        influences.append((without.mean() - without) * (without.size - 1) / without.size)
    influence = np.concatenate(influences)
    spread = math.sqrt(np.mean(influence**2))
    if not spread > 0:
        return 0.0
    return float(np.mean((influence / spread) ** 3)) / (6 * math.sqrt(influence.size))


def _row_blocks(n_rows: int, width: int) -> Iterator[_Int]:
    """Yield the row numbers of a matrix, a bounded number of elements at a time."""
    height = max(1, _BLOCK // width)
    for start in range(0, n_rows, height):
        yield np.arange(start, min(start + height, n_rows))


def _checked_values(values: npt.ArrayLike) -> _Float:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise UndefinedMetricError(f"values must be one-dimensional, not of shape {array.shape}")
    finite = np.isfinite(array)
    if not finite.all():
        i = int(np.argmin(finite))
        raise UndefinedMetricError(f"value {i} is {array[i]}: every value must be finite")
    return array


def _checked_p_values(p_values: npt.ArrayLike) -> _Float:
    p = np.asarray(p_values, dtype=np.float64)
    if p.ndim != 1 or not ((p >= 0) & (p <= 1)).all():
        raise ValueError("p-values must be a one-dimensional array of numbers from 0 to 1")
    return p
