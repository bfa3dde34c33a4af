"""Intervals and tests: published examples, exact enumeration, textbooks, and simulation."""

from __future__ import annotations

import itertools
import math
import re
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

from mteb_ext.errors import UndefinedMetricError
from mteb_ext.metrics import significance
from mteb_ext.metrics.correlation import pearson, pearson_of_rows, spearman
from mteb_ext.metrics.significance import (
    Interval,
    PairedSample,
    correlation_interval,
    holm,
    mean_correlation_interval,
    mean_interval,
    williams_test,
)

pytestmark = pytest.mark.filterwarnings("error")

BOTH = pytest.mark.parametrize("method", ["pearson", "spearman"])
SCIPY = {
    "pearson": lambda x, y: stats.pearsonr(x, y)[0],
    "spearman": lambda x, y: stats.spearmanr(x, y)[0],
}


def correlated_pairs(n, seed):
    gold = np.random.default_rng(seed).integers(26, size=n) / 5
    return gold, np.tanh(gold) + np.random.default_rng(seed + 1).standard_t(4, size=n) / 5


class Exact(NamedTuple):
    """A statistic of every resample there is, with its chance, and without each observation."""

    values: list[float]
    chances: list[float]
    left_out: list[float]
    estimate: float

    @classmethod
    def of(cls, statistic, n):
        draws = list(itertools.combinations_with_replacement(range(n), n))
        ways = [math.prod(math.factorial(draw.count(i)) for i in range(n)) for draw in draws]
        return cls(
            [statistic(list(draw)) for draw in draws],
            [math.factorial(n) / each / n**n for each in ways],
            [statistic([i for i in range(n) if i != out]) for out in range(n)],
            statistic(list(range(n))),
        )

    def bca(self, *influences):
        """BCa as Efron and Tibshirani print it, in equations 14.9 to 14.15 and 15.36."""
        values, chances = np.array(self.values), np.array(self.chances)
        below = chances[values < self.estimate].sum() + chances[values == self.estimate].sum() / 2
        influences = influences or [np.mean(self.left_out) - self.left_out]
        influences = [(len(u) - 1) / len(u) * u for u in influences]
        cubes, squares = (sum((u**power).sum() for u in influences) for power in (3, 2))
        bias, acceleration = stats.norm.ppf(below), cubes / (6 * squares**1.5)
        ends = [bias + stats.norm.ppf(share) for share in (0.025, 0.975)]
        shares = stats.norm.cdf([bias + z / (1 - acceleration * z) for z in ends])
        order = np.argsort(values)
        return values[order][np.searchsorted(chances[order].cumsum(), shares)]


def exact_correlation(x, y, method):
    def correlation(rows):
        if len({*x[rows]}) == 1 or len({*y[rows]}) == 1:
            return 0.0
        return round(SCIPY[method](x[rows], y[rows]), 12)

    return Exact.of(correlation, len(x))


class TestSmallSamples:
    X = np.array([0.1, 0.5, 0.7, 1.6, 2.0, 2.2, 3.1])
    Y = np.array([0.3, 0.2, 1.0, 0.9, 1.5, 0.8, 1.9])

    @pytest.mark.slow
    @BOTH
    def test_a_correlation_against_every_resample(self, method):
        expected = exact_correlation(self.X, self.Y, method).bca()
        # The values of seven pairs' resamples lie up to 0.015 apart at the lower end.
        assert correlation_interval(self.X, self.Y, method) == pytest.approx(expected, abs=0.016)

    def test_a_mean_against_every_resample(self):
        values = np.array([0.05, 0.2, 0.3, 0.45, 0.46, 0.47, 1.0])
        expected = Exact.of(lambda rows: values[rows].mean(), 7).bca()
        assert mean_interval(values) == pytest.approx(expected, abs=5e-3)

    @BOTH
    def test_a_mean_of_correlations_against_every_resample(self, method):
        subsets = [(self.X[:6], self.Y[:6]), (self.X[:5] ** 2, self.Y[[1, 0, 2, 4, 3]])]
        a, b = (exact_correlation(x, y, method) for x, y in subsets)
        both = Exact(
            np.add.outer(a.values, b.values).ravel() / 2,
            np.multiply.outer(a.chances, b.chances).ravel(),
            [],
            (a.estimate + b.estimate) / 2,
        )
        influences = [(np.mean(each.left_out) - each.left_out) / 2 for each in (a, b)]
        expected = both.bca(*influences)
        ours = mean_correlation_interval(subsets, method)
        assert ours == pytest.approx(expected, abs=5e-3)

    @BOTH
    def test_one_subset_is_a_single_correlation(self, method):
        pairs = correlated_pairs(40, seed=4)
        assert mean_correlation_interval([pairs], method) == correlation_interval(*pairs, method)

    @pytest.mark.slow
    @BOTH
    def test_the_order_of_rows_and_subsets_does_not_matter(self, method):
        # Ties in one variable and in both: their order must not matter either.
        subsets = [correlated_pairs(20, seed=5), correlated_pairs(30, seed=6)]
        subsets[0][1].round(1, out=subsets[0][1])
        moved = []
        for x, y in reversed(subsets):
            order = np.random.default_rng(7).permutation(x.size)
            moved.append((x[order], y[order]))
        assert correlation_interval(*moved[1], method) == correlation_interval(*subsets[0], method)
        ends = mean_correlation_interval(subsets, method)
        assert mean_correlation_interval(moved, method) == ends

    def test_the_order_of_values_does_not_matter(self):
        values = 1 / np.random.default_rng(8).geometric(0.6, size=20)
        assert mean_interval(values[::-1]) == mean_interval(values)

    @pytest.mark.slow
    def test_reruns_agree_and_other_seeds_give_nearly_the_same(self):
        x, noise = np.random.default_rng(5).standard_normal((2, 20))
        y = x + noise
        assert correlation_interval(x, y) == correlation_interval(x, y, seed=0)
        others = [correlation_interval(x, y, seed=seed) for seed in (1, 2, 3)]
        assert correlation_interval(x, y) not in others
        for other in others:
            assert other == pytest.approx(correlation_interval(x, y), abs=0.005)
            assert mean_correlation_interval([(x, y)], seed=1) == others[0]
        assert mean_interval(y) != mean_interval(y, seed=1)

    @pytest.mark.slow
    def test_more_pairs_give_a_narrower_interval_around_the_estimate(self):
        few, many = correlated_pairs(50, seed=7), correlated_pairs(800, seed=7)
        for method, correlation in (("pearson", pearson), ("spearman", spearman)):
            wide, narrow = (correlation_interval(*pairs, method) for pairs in (few, many))
            assert narrow.high - narrow.low < (wide.high - wide.low) / 2
            assert wide.low < correlation(*few) < wide.high
            assert narrow.low < correlation(*many) < narrow.high

    @pytest.mark.slow
    def test_coverage_of_a_skewed_mean(self, monkeypatch):
        # Reciprocal ranks of 30 queries; the mean of 1/rank for geometric ranks has a closed form.
        monkeypatch.setattr(significance, "_MOST", 2000)
        share, random = 0.6, np.random.default_rng(8)
        mean = -share * math.log(share) / (1 - share)
        hits = 0
        for _ in range(400):
            low, high = mean_interval(1 / random.geometric(share, size=30))
            hits += low <= mean <= high
        assert 0.92 <= hits / 400 <= 0.98


class TestLargeSamples:
    @BOTH
    def test_the_variance_against_the_jackknife(self, method):
        x, y = correlated_pairs(900, seed=20)
        y = y.round(1) if method == "spearman" else y
        without = [SCIPY[method](np.delete(x, i), np.delete(y, i)) for i in range(900)]
        expected = 899 * np.var(without)
        r, influences = significance.PairedSample.of(x, y, method).correlation_and_influences()
        assert r == pytest.approx(SCIPY[method](x, y), abs=1e-12)
        assert np.mean(influences) == pytest.approx(0, abs=1e-12)
        assert np.var(influences) / 900 == pytest.approx(expected, rel=0.02)

    @BOTH
    def test_a_normal_sample_has_the_interval_of_the_textbook(self, method):
        # Fisher's z of Pearson has variance 1 / (n - 3); of Spearman about 1.06 as much.
        x, noise = np.random.default_rng(21).standard_normal((2, 200_000))
        y = 0.3 * x + noise
        z = math.atanh(SCIPY[method](x, y))
        margin = 1.959964 * math.sqrt({"pearson": 1.0, "spearman": 1.06}[method] / 199_997)
        expected = math.tanh(z - margin), math.tanh(z + margin)
        assert correlation_interval(x, y, method) == pytest.approx(expected, abs=1e-4)

    @pytest.mark.slow
    @BOTH
    def test_it_continues_the_bootstrap(self, method, monkeypatch):
        x, y = correlated_pairs(4000, seed=22)
        bootstrapped = correlation_interval(x, y, method)
        monkeypatch.setattr(significance, "_BOOTSTRAPPED", 3999)
        width = bootstrapped.high - bootstrapped.low
        continued = correlation_interval(x, y, method)
        assert continued != bootstrapped
        assert continued == pytest.approx(bootstrapped, abs=0.08 * width)

    @BOTH
    def test_the_mean_of_subsets(self, method, monkeypatch):
        subsets = [correlated_pairs(n, seed=n) for n in (900, 1300)]
        bootstrapped = mean_correlation_interval(subsets, method)
        monkeypatch.setattr(significance, "_BOOTSTRAPPED", 2000)
        width = bootstrapped.high - bootstrapped.low
        continued = mean_correlation_interval(subsets, method)
        assert continued != bootstrapped
        assert continued == pytest.approx(bootstrapped, abs=0.08 * width)

    def test_a_mean_by_hand(self):
        # 2,500 zeros and 2,500 ones: standard deviation 0.5 * sqrt(5000 / 4999).
        margin = 1.959963984540054 * 0.5 / math.sqrt(4999)
        expected = (0.5 - margin, 0.5 + margin)
        assert mean_interval([0.0, 1.0] * 2500) == pytest.approx(expected, abs=1e-9)

    @BOTH
    def test_a_perfect_correlation(self, method):
        x = np.arange(5000.0)
        assert correlation_interval(x, x, method) == pytest.approx((1, 1), abs=1e-7)
        assert correlation_interval(x, -x, method) == pytest.approx((-1, -1), abs=1e-7)


class TestDegenerateIntervals:
    def test_equal_values(self):
        assert mean_interval([0.1] * 20) == pytest.approx((0.1, 0.1), abs=1e-15)
        low, high = mean_interval([0.1] * 20)
        assert low == high

    def test_two_values(self):
        assert mean_interval([0.0, 1.0]) == Interval(0.0, 1.0)

    @pytest.mark.parametrize("scale", [5e-324, 1e-160, 1e-110, 1e100])
    def test_values_of_any_scale(self, scale):
        low, high = mean_interval(np.array([1.0, 2.0, 2.0, 9.0]) * scale)
        assert scale <= low < high <= 9 * scale

    @pytest.mark.parametrize("n", [0, 1])
    def test_too_few_values(self, n):
        with pytest.raises(UndefinedMetricError, match=f"at least 2 values, not {n}"):
            mean_interval([0.5] * n)

    def test_values_that_are_not_numbers_of_queries(self):
        with pytest.raises(UndefinedMetricError, match="value 1 is nan"):
            mean_interval([1.0, math.nan])
        with pytest.raises(UndefinedMetricError, match="value 0 is masked"):
            mean_interval(np.ma.masked_less([0.1, 0.5], 0.2))
        with pytest.raises(UndefinedMetricError, match=re.escape("not of shape (1, 2)")):
            mean_interval([[1.0, 2.0]])

    @BOTH
    def test_a_perfect_correlation(self, method):
        x = np.random.default_rng(9).standard_normal(30)
        assert correlation_interval(x, 2 * x + 1, method) == pytest.approx((1, 1), abs=1e-12)

    @BOTH
    def test_resamples_without_variation_show_no_association(self, method):
        # About a third of the resamples miss the only different value; with it, x and y agree.
        x = [0.0] * 9 + [1.0]
        assert correlation_interval(x, x, method) == pytest.approx((0, 1), abs=1e-12)

    @pytest.mark.slow
    @BOTH
    @given(st.lists(st.tuples(*[st.sampled_from([0.1, 0.2, 0.7])] * 2), min_size=3, max_size=6))
    @settings(max_examples=20, deadline=None)
    def test_small_samples_with_ties(self, method, pairs):
        x, y = zip(*pairs, strict=True)
        if len(set(x)) == 1 or len(set(y)) == 1:
            with pytest.raises(UndefinedMetricError, match="is constant"):
                correlation_interval(x, y, method)
        else:
            low, high = correlation_interval(x, y, method)
            assert -1 <= low <= high <= 1

    @BOTH
    def test_two_pairs_tell_nothing(self, method):
        with pytest.raises(UndefinedMetricError, match="at least 3 pairs, not 2"):
            correlation_interval([1, 2], [3, 5], method)

    def test_the_message_names_the_subset(self):
        pairs = correlated_pairs(10, seed=10)
        with pytest.raises(UndefinedMetricError, match="subset 1: y is constant"):
            mean_correlation_interval([pairs, ([1, 2, 3], [4, 4, 4])])
        with pytest.raises(UndefinedMetricError, match="subset 2: an interval needs at least 3"):
            mean_correlation_interval([pairs, pairs, ([1, 2], [4, 5])])
        with pytest.raises(UndefinedMetricError, match="mean of no correlations"):
            mean_correlation_interval([])

    def test_an_unknown_coefficient(self):
        x, y = correlated_pairs(10, seed=11)
        with pytest.raises(ValueError, match="method must be pearson or spearman, not 'kendall'"):
            correlation_interval(x, y, "kendall")


class TestWilliams:
    def test_the_example_of_depcor(self):
        # Silver, Hittner and May, "A FORTRAN 77 Program for Comparing Dependent Correlations"
        # (2006), to four digits; also a test of the R package cocor.
        t, p = williams_test(0.3, 0.4, 0.5, 100)
        assert t == pytest.approx(-1.0767, abs=5e-5)
        assert p == pytest.approx(0.2843, abs=5e-5)

    def test_the_example_of_psych(self):
        # The documentation of r.test in the R package psych: p < 0.1000759.
        _, p = williams_test(0.693458895410494, 0.695966022434845, 0.988475791500198, 5105)
        assert p == pytest.approx(0.1000759, abs=5e-8)

    def test_the_example_of_brucer(self):
        # The documentation of cor_diff in the R package bruceR: t(97) = -4.56, p = 1e-05.
        t, p = williams_test(0.20, 0.45, 0.80, 100)
        assert t == pytest.approx(-4.56, abs=5e-3)
        assert p == pytest.approx(1e-5, abs=5e-6)

    def test_the_example_of_rmcorr(self):
        # The vignette of the R package rmcorr, by cocor: t = 9.3823 with df = 174, from
        # correlations of which four digits are printed.
        t, _ = williams_test(0.8066, 0.2383, 0.2255, 177)
        assert t == pytest.approx(9.3823, abs=2e-3)

    def test_against_the_formula_as_printed(self):
        # Steiger's equation 7 with the determinant of the correlation matrix, and the tail of
        # Student's distribution as an incomplete beta function; the examples above.
        for r_jk, r_jh, r_kh, n in [
            (0.3, 0.4, 0.5, 100),
            (0.20, 0.45, 0.80, 100),
            (0.693458895410494, 0.695966022434845, 0.988475791500198, 5105),
        ]:
            determinant = np.linalg.det([[1, r_jk, r_jh], [r_jk, 1, r_kh], [r_jh, r_kh, 1]])
            below = 2 * (n - 1) / (n - 3) * determinant
            below += ((r_jk + r_jh) / 2) ** 2 * (1 - r_kh) ** 3
            expected_t = (r_jk - r_jh) * math.sqrt((n - 1) * (1 + r_kh) / below)
            expected_p = special.betainc((n - 3) / 2, 0.5, (n - 3) / (n - 3 + expected_t**2))
            t, p = williams_test(r_jk, r_jh, r_kh, n)
            assert t == pytest.approx(expected_t, abs=1e-12)
            assert p == pytest.approx(expected_p, abs=1e-12)

    def test_by_hand(self):
        # r_kh = 0 leaves t = 0.5 * sqrt(8 / (2 * 0.75 * 8 / 6 + 0.0625)) for n = 9.
        t, _ = williams_test(0.5, 0.0, 0.0, 9)
        assert t == pytest.approx(0.5 * math.sqrt(8 / 2.0625), abs=1e-15)

    def test_swapping_the_models_mirrors_the_test(self):
        t, p = williams_test(0.6, 0.4, 0.5, 50)
        assert williams_test(0.4, 0.6, 0.5, 50) == (-t, p)

    def test_null_distribution(self):
        # Two models equally good by construction: p must be uniform.
        covariance = [[1, 0.5, 0.5], [0.5, 1, 0.7], [0.5, 0.7, 1]]
        samples = np.random.default_rng(12).multivariate_normal([0] * 3, covariance, (1500, 40))
        j, k, h = np.moveaxis(samples, -1, 0)
        pairs = ((j, k), (j, h), (k, h))
        correlations = zip(*(pearson_of_rows(*pair) for pair in pairs), strict=True)
        p = np.array([williams_test(*three, 40).p_value for three in correlations])
        assert np.mean(p < 0.05) == pytest.approx(0.05, abs=0.015)
        assert stats.kstest(p, "uniform").pvalue > 0.01

    def test_nearly_equal_models_keep_their_digits(self):
        # For r_kh = 1 - e and a difference d, t tends to d * sqrt(n - 3) / sqrt(2 e (1 - r^2)).
        e, d, r, n = 1e-13, 1e-8, 0.6, 103
        t, _ = williams_test(r + d / 2, r - d / 2, 1 - e, n)
        e = 1 - (1 - e)  # as the float has it
        expected = d * math.sqrt((n - 3) / (2 * e * (1 - r * r) - d * d))
        assert t == pytest.approx(expected, rel=1e-6)

    def test_the_same_scores_twice(self):
        assert williams_test(0.7, 0.7, 1.0, 30) == (0.0, 1.0)

    @pytest.mark.parametrize(
        ("correlations", "message"),
        [
            ((0.9, -0.9, 0.9), "no three variables have the correlations 0.9, -0.9 and 0.9"),
            ((0.9, 0.5, 1.0), "no three variables"),
            ((1.2, 0.5, 0.5), "no three variables"),
            ((math.nan, 0.5, 0.5), "no three variables"),
            ((0.5, -0.5, -1.0), "linearly dependent"),
            ((0.15, -0.14999999999999997, -1.0), "linearly dependent"),  # rounding: 3e-17
            ((0.5, -0.5, 0.5), "linearly dependent"),
            ((0.3, -0.3, 0.8200000000000001), "linearly dependent"),  # rounding: -1e-16
        ],
    )
    def test_correlations_without_a_test(self, correlations, message):
        with pytest.raises(UndefinedMetricError, match=message):
            williams_test(*correlations, 30)

    def test_too_few_observations(self):
        with pytest.raises(UndefinedMetricError, match="at least 4 observations, not 3"):
            williams_test(0.5, 0.4, 0.3, 3)


class TestManyComparisons:
    def test_holm_by_hand(self):
        # Sorted 0.01, 0.02, 0.03, 0.04 times 4, 3, 2, 1, then never below the one before.
        adjusted = holm([0.03, 0.01, 0.04, 0.02])
        np.testing.assert_allclose(adjusted, [0.06, 0.04, 0.06, 0.06], atol=1e-15)

    def test_holm_is_at_most_one(self):
        assert holm([0.9, 0.6]).tolist() == [1.0, 1.0]

    @given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
    @settings(max_examples=50, deadline=None)
    def test_between_no_correction_and_bonferroni(self, p_values):
        p = np.array(p_values)
        bonferroni = np.minimum(p * p.size, 1)
        assert (p <= holm(p)).all()
        assert (holm(p) <= bonferroni).all()

    def test_no_p_values(self):
        assert holm([]).shape == (0,)

    @pytest.mark.parametrize("bad", [[-0.1], [1.1], [math.nan], [[0.5]], 0.5])
    def test_what_is_not_a_list_of_p_values(self, bad):
        with pytest.raises(ValueError, match="one-dimensional array of numbers from 0 to 1"):
            holm(bad)


RNG = np.random.default_rng(0)
ROWS = RNG.integers(0, 150, (40, 150))
OUTLIER = np.r_[np.zeros(149), 1.0]


@pytest.mark.parametrize(
    "x",
    [
        RNG.normal(size=150),
        OUTLIER,  # a resample without it is constant
        OUTLIER + 1e-9 * RNG.normal(size=150),  # and one of these has a spread that moments lose
        1e6 + RNG.normal(size=150),
    ],
    ids=["normal", "outlier", "outlier-and-noise", "far-from-0"],
)
def test_resamples_of_many_pairs_have_the_correlation_of_their_pairs(x):
    y = RNG.normal(size=150)
    sample = PairedSample.of(x, y, "pearson").sorted()
    x, y = (np.array(values) for values in zip(*sorted(zip(x, y, strict=True)), strict=True))
    expected = [pearson(x[r], y[r]) if np.ptp(x[r]) else 0.0 for r in ROWS]
    assert sample.correlations(ROWS) == pytest.approx(expected, abs=1e-9)
    shaped = sample.correlations(ROWS.reshape(2, 20, 150))
    assert shaped == pytest.approx(np.reshape(expected, (2, 20)), abs=1e-9)


def test_a_perfect_correlation_has_a_point_for_an_interval():
    x = RNG.normal(size=40)
    assert significance.quick_correlation_interval(x, 3 * x + 1) == pytest.approx((1, 1))
    assert significance.quick_correlation_interval(x, -x, "spearman") == pytest.approx((-1, -1))


@pytest.mark.parametrize("method", ["pearson", "spearman"])
def test_the_quick_interval_is_near_the_bootstraps(method):
    x = RNG.normal(size=400)
    y = x + RNG.normal(size=400)
    quick = significance.quick_correlation_interval(x, y, method)
    assert quick == pytest.approx(correlation_interval(x, y, method), abs=0.01)
