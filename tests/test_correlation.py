"""Correlation: hand-computed values, exact rational arithmetic, and scipy."""

from __future__ import annotations

import math
import re
import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from mteb_ext.errors import UndefinedMetricError
from mteb_ext.metrics.correlation import pearson, pearson_of_rows, spearman

BOTH = pytest.mark.parametrize("correlation", [pearson, spearman])


def exact_pearson(x, y):
    """Pearson's correlation of the given floats in rational arithmetic."""
    x, y = ([Fraction(float(value)) for value in values] for values in (x, y))
    x, y = ([value - sum(values) / len(values) for value in values] for values in (x, y))
    covariance = sum(a * b for a, b in zip(x, y, strict=True))
    square = covariance**2 / (sum(a * a for a in x) * sum(b * b for b in y))
    root = math.isqrt(square.numerator * 10**40 // square.denominator) / 10**20
    return root if covariance > 0 else -root


class TestByHand:
    def test_pearson(self):
        # Deviations (-2, 0, 2) and (-1, -1, 2): 6 / sqrt(8 * 6).
        assert pearson([1, 3, 5], [2, 2, 5]) == pytest.approx(math.sqrt(3) / 2, abs=1e-15)

    def test_spearman(self):
        # Ranks (1, 2, 3, 4) and (1, 3, 2, 4): 1 - 6 * 2 / (4 * 15).
        assert spearman([10, 20, 30, 99], [0, 7, 5, 8]) == pytest.approx(0.8, abs=1e-15)

    def test_spearman_with_tied_values(self):
        # Ranks (1.5, 1.5, 3) and (1, 2, 3): 1.5 / sqrt(1.5 * 2).
        assert spearman([4, 4, 9], [1, 2, 3]) == pytest.approx(math.sqrt(3) / 2, abs=1e-15)

    @BOTH
    def test_perfect(self, correlation):
        x = [0.1, 0.7, 0.2, 0.9]
        assert correlation(x, x) == 1.0
        assert correlation(x, [-value for value in x]) == -1.0

    @BOTH
    def test_two_pairs(self, correlation):
        assert correlation([1, 2], [9, 3]) == -1.0

    def test_a_float_comes_back(self):
        assert type(pearson([1, 2, 3], [1, 2, 4])) is float
        assert type(spearman([1, 2, 3], [1, 2, 4])) is float


class TestAgainstScipy:
    @pytest.mark.parametrize("n", [3, 50, 3670])
    def test_normal_values(self, n):
        x, noise = np.random.default_rng(n).standard_normal((2, n))
        y = x + noise
        assert pearson(x, y) == pytest.approx(stats.pearsonr(x, y)[0], abs=1e-12)
        assert spearman(x, y) == pytest.approx(stats.spearmanr(x, y)[0], abs=1e-12)

    @pytest.mark.slow
    def test_a_million_pairs(self):
        x, noise = np.random.default_rng(1).standard_normal((2, 1_000_000))
        y = (x + noise).round(2)
        assert pearson(x, y) == pytest.approx(stats.pearsonr(x, y)[0], abs=1e-12)
        assert spearman(x, y) == pytest.approx(stats.spearmanr(x, y)[0], abs=1e-12)

    @pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int8, np.int64])
    def test_types_are_computed_in_float64(self, dtype):
        random = np.random.default_rng(2)
        x = (random.standard_normal(2000) * 30).clip(-99, 99).astype(dtype)
        y = random.permutation(x)
        y[:1000] = x[:1000]
        wide_x, wide_y = x.astype(np.float64), y.astype(np.float64)
        assert pearson(x, y) == pytest.approx(stats.pearsonr(wide_x, wide_y)[0], abs=1e-12)
        assert spearman(x, y) == pytest.approx(stats.spearmanr(wide_x, wide_y)[0], abs=1e-12)
        assert pearson(x.tolist(), y) == pearson(x, y)


class TestExtremeValues:
    """scipy.stats.pearsonr loses digits or overflows on most of these; the exact value does not."""

    X, NOISE = np.random.default_rng(3).standard_normal((2, 200))

    @pytest.mark.parametrize(
        "x",
        [
            pytest.param(X + 1e12, id="a large offset"),
            pytest.param(1 + np.round(X) * 2**-52, id="a few last digits beside 1"),
            pytest.param(1e300 * (1 + np.round(X) * 2**-52), id="last digits of a large number"),
            pytest.param(X * 1e-310, id="subnormal"),
            pytest.param(np.round(X * 3) * 5e-324, id="the smallest numbers there are"),
            pytest.param(X / 10 * 1.7e308, id="huge"),
            pytest.param(np.r_[X[:-1], 1e15], id="an outlier"),
            pytest.param(np.r_[1e15, X[1:]], id="an outlier in front"),
        ],
    )
    @pytest.mark.filterwarnings("error")
    def test_against_exact_arithmetic(self, x):
        y = self.X + self.NOISE
        assert pearson(x, y) == pytest.approx(exact_pearson(x, y), abs=1e-13)
        assert pearson(y, x) == pytest.approx(exact_pearson(y, x), abs=1e-13)

    @given(
        st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=2, max_size=8),
        st.sampled_from([5e-324, 1e-200, 1.0, 1e200, 5e307]),
        st.sampled_from([0.0, 1.0, 1e6]),
    )
    @settings(max_examples=200, deadline=None)
    def test_any_scale_and_offset(self, pairs, scale, offset):
        x, y = (np.array(values) for values in zip(*pairs, strict=True))
        assume(np.ptp(x) > 0)
        assume(np.ptp(y) > 0)
        assert pearson(x * scale, y + offset) == pytest.approx(exact_pearson(x, y), abs=1e-13)

    @given(st.lists(st.floats(-1e9, 1e9), min_size=2, max_size=10))
    @settings(max_examples=200, deadline=None)
    def test_never_beyond_one(self, x):
        assume(np.ptp(x) > 0)
        assert -1 <= pearson(x, [3 * value + 1 for value in x] if np.ptp(x) > 1 else x) <= 1
        assert pearson(x, x) == pytest.approx(1.0, abs=1e-15)


class TestUndefined:
    @BOTH
    @pytest.mark.parametrize("value", [0, 0.1, 1e-320, -1.7e308])
    def test_a_constant(self, correlation, value):
        with pytest.raises(UndefinedMetricError, match=r"^x is constant, all 7 values are"):
            correlation([value] * 7, range(7))
        with pytest.raises(UndefinedMetricError, match=r"^y is constant, all 7 values are"):
            correlation(range(7), [value] * 7)

    @BOTH
    @pytest.mark.parametrize("n", [0, 1])
    def test_too_few_pairs(self, correlation, n):
        with pytest.raises(UndefinedMetricError, match=f"at least 2 pairs, not {n}"):
            correlation([1.0] * n, [2.0] * n)

    @BOTH
    @pytest.mark.parametrize(
        ("x", "y"), [([1, 2, 3], [1, 2]), ([[1, 2]], [[1, 2]]), (1.0, 2.0), ([1, 2], [[1, 2]])]
    )
    def test_shapes(self, correlation, x, y):
        message = f"x has shape {np.shape(x)} and y {np.shape(y)}"
        with pytest.raises(UndefinedMetricError, match=re.escape(message)):
            correlation(x, y)

    @BOTH
    @pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
    def test_the_first_value_that_is_not_finite(self, correlation, bad):
        with pytest.raises(UndefinedMetricError, match=rf"^x\[2\] is {bad}"):
            correlation([1, 2, bad, math.nan], [1, 2, 3, 4])
        with pytest.raises(UndefinedMetricError, match=rf"^y\[0\] is {bad}"):
            correlation([1, 2], [bad, 2])


class TestTypesOfScores:
    """A value counts in the type that it has; nothing is cut to fewer digits on the way."""

    def test_integers_that_float64_cannot_tell_apart(self):
        x = 2**62 + np.array([0, 1, 3])
        assert spearman(x, [1, 2, 3]) == 1.0
        # As 0, 1, 3 with 1, 2, 3: deviations (-4, -1, 5) / 3 and (-1, 0, 1).
        assert pearson(x, [1, 2, 3]) == pytest.approx(3 / math.sqrt(28 / 3), abs=1e-15)
        assert pearson(x.astype(np.uint64), [1, 2, 3]) == pearson(x, [1, 2, 3])

    @pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="longdouble is float64 here")
    def test_long_doubles_that_float64_cannot_tell_apart(self):
        x = 1 + np.array([0, 1, 3]) * np.finfo(np.longdouble).eps
        assert spearman(x, [1, 2, 3]) == 1.0
        assert pearson(x, [1, 2, 3]) == pytest.approx(3 / math.sqrt(28 / 3), abs=1e-15)

    @BOTH
    @pytest.mark.parametrize("dtype", [">f8", ">f4", ">i8", ">i2", np.bool_])
    def test_other_byte_orders_and_truth_values(self, correlation, dtype):
        x, y = np.array([0, 1, 1, 0, 1]), [0.1, 0.4, 0.3, 0.2, 0.9]
        assert correlation(x.astype(dtype), y) == correlation(x.astype(float), y)

    @BOTH
    def test_masked_values(self, correlation):
        x = np.ma.masked_equal([1, 2, 7, 3], 7)
        with pytest.raises(UndefinedMetricError, match=re.escape("x[2] is masked")):
            correlation(x, [1, 2, 3, 5])
        nothing_masked = np.ma.masked_equal([1, 2, 7, 3], 8)
        assert correlation(nothing_masked, [1, 2, 3, 5]) == correlation([1, 2, 7, 3], [1, 2, 3, 5])

    @BOTH
    @pytest.mark.parametrize("values", [[1j, 2, 3], ["a", "b", "c"], [None, 1, 2]])
    def test_what_is_not_a_real_number(self, correlation, values):
        with pytest.raises(UndefinedMetricError, match=r"^x must be real numbers, not "):
            correlation(values, [1, 2, 3])


def test_rows_are_correlated_one_by_one_and_a_constant_gives_nan_silently():
    x = np.array([[0.1, 0.1, 0.1], [1, 2, 3], [1, 3, 5]])
    y = np.array([[1, 2, 3], [0.3, 0.3, 0.3], [2, 2, 5]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = pearson_of_rows(x, y)
    # The last row is the first example of all, by hand.
    np.testing.assert_allclose(result, [np.nan, np.nan, math.sqrt(3) / 2], rtol=0, atol=1e-15)
