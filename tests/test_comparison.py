"""Comparisons of many models: values by hand, brute force, the jackknife, published examples."""

from __future__ import annotations

import itertools
import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from mteb_ext.errors import UndefinedMetricError
from mteb_ext.metrics import comparison
from mteb_ext.metrics.comparison import (
    Comparison,
    compare_correlations_of,
    compare_means_of,
    letters,
)
from mteb_ext.metrics.significance import holm, williams_test

pytestmark = pytest.mark.filterwarnings("error")

SCIPY = {
    "pearson": lambda x, y: stats.pearsonr(x, y)[0],
    "spearman": lambda x, y: stats.spearmanr(x, y)[0],
}
BOTH = pytest.mark.parametrize("method", SCIPY)


def scored(n, n_models=3, seed=0):
    """Gold scores, and models that differ a little and make some errors together."""
    random = np.random.default_rng(seed)
    gold = random.integers(26, size=n) / 5
    noise = random.standard_normal((n_models, n)) + random.standard_normal(n)
    return gold, gold + noise * np.linspace(0.8, 1.4, n_models)[:, np.newaxis]


def average_precisions(n, n_models, seed=0):
    random = np.random.default_rng(seed)
    return 1 / random.geometric(np.linspace(0.4, 0.8, n_models)[:, np.newaxis], (n_models, n))


def by_pair(comparisons):
    return {(c.first, c.second): c for c in comparisons}


class TestMeans:
    def test_by_hand(self):
        # Differences .1, .2 and .3: mean .2, standard error .1 / sqrt(3). Student's quantiles
        # with 2 degrees of freedom are 4.302653 and 1.060660. Of 8 signs, 2 reach the mean.
        [c] = compare_means_of([[0.2, 0.4, 0.6], [0.1, 0.2, 0.3]])
        error = 0.1 / math.sqrt(3)
        assert (c.first, c.second, c.wins, c.ties, c.losses) == (0, 1, 3, 0, 0)
        assert c.difference == pytest.approx(0.2, abs=1e-15)
        assert c.low == pytest.approx(0.2 - 4.302653 * error, abs=1e-6)
        assert c.high == pytest.approx(0.2 + 4.302653 * error, abs=1e-6)
        assert c.resolvable == pytest.approx((4.302653 + 1.060660) * error, abs=1e-6)
        assert c.p == c.p_adjusted == 0.25

    def test_wins_ties_and_losses_ignore_rounding(self):
        values = [[0.5, 0.1 + 0.2, 0.1, 0.2], [0.4, 0.3, 0.6, 0.9]]
        [c] = compare_means_of(values)
        assert (c.wins, c.ties, c.losses) == (1, 1, 2)

    def test_pairs_and_baseline(self):
        values = average_precisions(8, 4)
        all_pairs = compare_means_of(values)
        assert [(c.first, c.second) for c in all_pairs] == [*itertools.combinations(range(4), 2)]
        against = compare_means_of(values, baseline=2)
        assert [(c.first, c.second) for c in against] == [(0, 2), (1, 2), (3, 2)]
        for c in against[:2]:
            of_all = by_pair(all_pairs)[c.first, c.second]
            assert (c.difference, c.low, c.high, c.p) == pytest.approx(
                (of_all.difference, of_all.low, of_all.high, of_all.p), abs=1e-12
            )
            assert c.p_adjusted <= of_all.p_adjusted  # a smaller family

    @given(st.lists(st.lists(st.integers(0, 3), min_size=5, max_size=5), min_size=4, max_size=4))
    @settings(max_examples=30, deadline=None)
    def test_every_p_against_brute_force(self, tenths):
        # Tenths are not exact in binary: sums that are equal must count as equal.
        pairs = list(itertools.combinations(range(4), 2))
        paired = [[a - b for a, b in zip(tenths[i], tenths[j], strict=True)] for i, j in pairs]

        def statistics(signs):
            return [
                abs(sum(s * d for s, d in zip(signs, row, strict=True)))
                / math.sqrt(sum(d * d for d in row) or 1)
                for row in paired
            ]

        drawn = [statistics(signs) for signs in itertools.product((1, -1), repeat=5)]
        observed = statistics([1] * 5)
        adjusted, so_far = {}, 0.0
        in_play = sorted(range(len(pairs)), key=lambda k: -observed[k])
        while in_play:
            k = in_play[0]
            largest = [max(row[k] for k in in_play) for row in drawn]
            so_far = max(so_far, np.mean([value >= observed[k] - 1e-9 for value in largest]))
            adjusted[pairs[in_play.pop(0)]] = so_far
        for c in compare_means_of(np.array(tenths) / 10):
            k = pairs.index((c.first, c.second))
            own = np.mean([row[k] >= observed[k] - 1e-9 for row in drawn])
            assert c.p == pytest.approx(own, abs=1e-12)
            assert c.p_adjusted == pytest.approx(adjusted[c.first, c.second], abs=1e-12)

    def test_random_signs_approach_the_exact_values(self, monkeypatch):
        values = average_precisions(12, 4)
        exact = compare_means_of(values)
        monkeypatch.setattr(comparison, "_DRAWS", 4000)  # below 2**12
        drawn, again = compare_means_of(values), compare_means_of(values, seed=1)
        assert drawn != exact
        assert drawn != again
        for a, b in zip(drawn, exact, strict=True):
            assert (a.p, a.p_adjusted) == pytest.approx((b.p, b.p_adjusted), abs=0.03)

    @pytest.mark.parametrize("n", [10, 50])
    def test_blocks_do_not_change_the_signs(self, n, monkeypatch):
        values = average_precisions(n, 4)
        whole = compare_means_of(values)
        monkeypatch.setattr(comparison, "_BLOCK", 8000)
        assert compare_means_of(values) == whole

    @pytest.mark.slow
    def test_memory_is_bounded(self):
        tracemalloc.start()
        compare_means_of(average_precisions(60, 30))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 100e6  # 65,536 draws of 435 pairs would take 228 MB in one array

    def test_scipys_test_of_two_models_agrees(self):
        first, second = values = average_precisions(40, 2)
        [c] = compare_means_of(values)
        scipys = stats.permutation_test(
            (first - second,), np.mean, permutation_type="samples", n_resamples=9999, random_state=0
        )
        assert c.p == pytest.approx(scipys.pvalue, abs=0.02)

    def test_p_is_never_zero(self):
        values = np.array([[1], [0]]) + np.random.default_rng(0).random((2, 300)) / 9
        [c] = compare_means_of(values)
        assert c.p == c.p_adjusted == pytest.approx(1 / (comparison._DRAWS + 1), rel=1e-12)
        assert c.low < c.high

    def test_equal_models(self):
        values = average_precisions(30, 2)
        c = by_pair(compare_means_of([values[0], values[1], values[0]]))[0, 2]
        assert (c.difference, c.low, c.high, c.p, c.p_adjusted, c.ties) == (0, 0, 0, 1, 1, 30)

    def test_the_order_of_models_and_queries_does_not_matter(self):
        values = average_precisions(40, 5)
        expected = by_pair(compare_means_of(values))
        models, queries = np.array([3, 0, 4, 1, 2]), np.random.default_rng(1).permutation(40)
        for c in compare_means_of(values[models][:, queries]):
            i, j = sorted((int(models[c.first]), int(models[c.second])))
            assert c.p == expected[i, j].p
            assert c.p_adjusted == expected[i, j].p_adjusted

    def test_wrong_input(self):
        for shape in [(1, 5), (2, 1), (0, 0), (4,), (2, 3, 4)]:
            with pytest.raises(UndefinedMetricError, match="at least 2 models"):
                compare_means_of(np.zeros(shape))
        with pytest.raises(UndefinedMetricError, match="value of model 1 for query 2 is nan"):
            compare_means_of([[0, 1, 0], [0, 0, math.nan]])
        for baseline in (2, -1):
            with pytest.raises(ValueError, match=f"index below 2, not {baseline}"):
                compare_means_of([[0, 1], [1, 1]], baseline=baseline)


class TestCorrelations:
    @BOTH
    def test_the_interval_against_the_jackknife(self, method):
        subsets = [scored(150, seed=1), scored(250, seed=2)]
        variance, difference = 0.0, 0.0
        for gold, (a, b, _) in subsets:
            n = gold.size
            without = [
                SCIPY[method](np.delete(a, i), np.delete(gold, i))
                - SCIPY[method](np.delete(b, i), np.delete(gold, i))
                for i in range(n)
            ]
            variance += (n - 1) * np.var(without) / 4
            difference += (SCIPY[method](a, gold) - SCIPY[method](b, gold)) / 2
        c = compare_correlations_of(subsets, method)[0]
        assert c.difference == pytest.approx(difference, abs=1e-12)
        error = math.sqrt(variance)
        assert (c.high - c.low) / 2 == pytest.approx(stats.t.ppf(0.975, 398) * error, rel=0.02)
        assert (c.high + c.low) / 2 == pytest.approx(difference, abs=1e-12)
        assert c.p == pytest.approx(2 * stats.t.sf(abs(difference) / error, 398), rel=0.1)
        quantiles = stats.t.ppf(0.975, 398) + stats.t.ppf(0.8, 398)
        assert c.resolvable == pytest.approx(quantiles * error, rel=0.02)
        assert (c.wins, c.ties, c.losses) == (None, None, None)

    def test_pearson_on_one_subset_is_williams_test(self):
        gold, scores = scored(80)
        for c in compare_correlations_of([(gold, scores)], "pearson"):
            a, b = scores[c.first], scores[c.second]
            three = (np.corrcoef(pair)[0, 1] for pair in ((gold, a), (gold, b), (a, b)))
            assert c.p == pytest.approx(williams_test(*three, 80).p_value, rel=1e-9)

    @pytest.mark.parametrize(("method", "n_subsets"), [("spearman", 1), ("pearson", 2)])
    def test_elsewhere_p_and_interval_are_of_one_standard_error(self, method, n_subsets):
        subsets = [scored(80, seed=seed) for seed in range(n_subsets)]
        freedom = 80 * n_subsets - n_subsets
        for c in compare_correlations_of(subsets, method):
            error = (c.high - c.low) / 2 / stats.t.ppf(0.975, freedom)
            expected = 2 * stats.t.sf(abs(c.difference) / error, freedom)
            assert c.p == pytest.approx(expected, rel=1e-9)

    def test_adjusted_p_against_the_studentized_range(self):
        # Of models whose errors are alike and independent the largest difference has Tukey's
        # distribution: p is that of the range of k normal variables.
        random = np.random.default_rng(4)
        gold = random.standard_normal(20_000)
        scores = gold + random.standard_normal((4, 20_000))
        comparisons = compare_correlations_of([(gold, scores)], "pearson")
        smallest = min(comparisons, key=lambda c: c.p)
        z = stats.norm.isf(smallest.p / 2)
        expected = stats.studentized_range.sf(z * math.sqrt(2), 4, 1e6)
        assert 0.1 < expected < 0.9
        assert smallest.p_adjusted == pytest.approx(expected, abs=0.01)

    @BOTH
    def test_adjusted_between_none_and_holm(self, method):
        subsets = [scored(60, n_models=6, seed=seed) for seed in (4, 5)]
        comparisons = compare_correlations_of(subsets, method)
        p = np.array([c.p for c in comparisons])
        adjusted = np.array([c.p_adjusted for c in comparisons])
        assert (p <= adjusted).all()
        assert (adjusted <= holm(p)).all()
        assert (np.diff(adjusted[np.argsort(p)]) >= 0).all()
        assert (adjusted < holm(p) - 0.02).any()

    def test_the_draws_run_out_and_holm_stands(self):
        gold, scores = scored(3000, n_models=3)
        scores[2] = np.random.default_rng(6).standard_normal(3000)
        comparisons = by_pair(compare_correlations_of([(gold, scores)], "spearman"))
        assert comparisons[0, 2].p < 1e-100
        assert comparisons[0, 2].p < comparisons[0, 2].p_adjusted <= 3 * comparisons[0, 2].p

    @BOTH
    def test_a_rescaled_copy_does_not_differ(self, method):
        gold, scores = scored(70)
        copies = [scores[0], 3 * scores[0] - 2, scores[1]]
        for subsets in ([(gold, copies)], [(gold, copies)] * 2):
            c = compare_correlations_of(subsets, method)[0]
            assert c.difference == 0
            assert (c.p, c.p_adjusted) == pytest.approx((1, 1), abs=1e-6)
            assert (c.low, c.high, c.resolvable) == pytest.approx((0, 0, 0), abs=1e-12)

    @BOTH
    def test_a_perfect_model_and_its_reverse(self, method):
        # Not even the sign of the first model's scores is like the second's: Williams' test is
        # undefined, and there is no spread.
        gold = np.arange(20.0)
        [c] = compare_correlations_of([(gold, [gold, -gold])], method)
        assert c.difference == pytest.approx(2)
        assert (c.low, c.high) == pytest.approx((2, 2))
        assert 0 < c.p <= c.p_adjusted < 1e-4

    @BOTH
    def test_the_order_of_models_and_rows_does_not_matter(self, method):
        gold, scores = scored(50, n_models=5)
        expected = by_pair(compare_correlations_of([(gold, scores)], method))
        models, rows = np.array([3, 0, 4, 1, 2]), np.random.default_rng(1).permutation(50)
        moved = [(gold[rows], scores[models][:, rows])]
        for c in compare_correlations_of(moved, method):
            i, j = sorted((int(models[c.first]), int(models[c.second])))
            assert c.p == pytest.approx(expected[i, j].p, abs=1e-9)
            assert c.p_adjusted == pytest.approx(expected[i, j].p_adjusted, abs=1e-4)

    def test_baseline(self):
        subsets = [scored(50, n_models=4)]
        against = compare_correlations_of(subsets, "spearman", baseline=0)
        assert [(c.first, c.second) for c in against] == [(1, 0), (2, 0), (3, 0)]
        of_all = by_pair(compare_correlations_of(subsets, "spearman"))
        for c in against:
            assert c.difference == -of_all[0, c.first].difference
            assert c.p == of_all[0, c.first].p

    def test_wrong_input(self):
        gold, scores = scored(20)
        with pytest.raises(UndefinedMetricError, match="a subset and 2 models"):
            compare_correlations_of([], "pearson")
        with pytest.raises(UndefinedMetricError, match="a subset and 2 models"):
            compare_correlations_of([(gold, scores[:1])], "pearson")
        with pytest.raises(ValueError, match=r"scores of \[2, 3\] models"):
            compare_correlations_of([(gold, scores), (gold, scores[:2])], "pearson")
        with pytest.raises(UndefinedMetricError, match="subset 1, model 2: x is constant"):
            constant = [*scores[:2], np.zeros(20)]
            compare_correlations_of([(gold, scores), (gold, constant)], "spearman")
        with pytest.raises(ValueError, match="method must be"):
            compare_correlations_of([(gold, scores)], "kendall")


def display(scores, differing, names=None):
    """Letters of models of which some pairs, by index, differ."""
    pairs = itertools.combinations(range(len(scores)), 2)
    comparisons = [
        Comparison(i, j, 0, 0, 0, 0.01, 0.05 if {i, j} in differing else 0.051, 0) for i, j in pairs
    ]
    return letters(scores, names or [f"{i:03d}" for i in range(len(scores))], comparisons)


class TestLetters:
    def test_the_example_of_gramm_and_others(self):
        # Gramm, Guo, Hueffner, Niedermeier, Piepho and Schmid, "Algorithms for compact letter
        # displays" (CSDA 2007), figure 2: n = 5 and H = {1,5}, {2,3}, {2,5}, {3,5}. The cliques
        # of what is left are {1,2,4}, {1,3,4} and {4,5}.
        differing = [{0, 4}, {1, 2}, {1, 4}, {2, 4}]
        assert display([5, 4, 3, 2, 1], differing) == ["ab", "a", "b", "abc", "c"]

    def test_the_example_of_multcompview(self):
        # The documentation of multcompLetters in the R package multcompView: only B and C differ.
        assert display([3, 2, 1], [{1, 2}]) == ["ab", "a", "b"]

    def test_none_and_all_differ(self):
        assert display([0.1, 0.3, 0.2], []) == ["a", "a", "a"]
        assert display([0.1, 0.3, 0.2], [{0, 1}, {1, 2}, {0, 2}]) == ["c", "a", "b"]

    def test_equal_scores_are_ordered_by_name(self):
        assert display([1, 1], [{0, 1}], names=["b", "a"]) == ["b", "a"]

    def test_the_order_of_models_does_not_matter(self):
        scores, names = [0.9, 0.8, 0.8, 0.7, 0.1], ["v", "w", "x", "y", "z"]
        differing = [{0, 3}, {0, 4}, {1, 4}, {2, 3}]
        expected = dict(zip(names, display(scores, differing, names), strict=True))
        for order in itertools.permutations(range(5)):
            moved = [{order.index(i) for i in pair} for pair in differing]
            found = display([scores[i] for i in order], moved, [names[i] for i in order])
            assert {names[i]: shared for i, shared in zip(order, found, strict=True)} == expected

    @given(st.sets(st.sampled_from([*itertools.combinations(range(6), 2)])))
    @settings(max_examples=60, deadline=None)
    def test_models_share_a_letter_exactly_when_they_do_not_differ(self, differing):
        found = display([6, 5, 4, 3, 2, 1], [set(pair) for pair in differing])
        for i, j in itertools.combinations(range(6), 2):
            assert bool(set(found[i]) & set(found[j])) == ((i, j) not in differing)

    def test_more_than_26_groups(self):
        differing = [{i, j} for i, j in itertools.combinations(range(28), 2)]
        found = display(list(range(28, 0, -1)), differing)
        assert found[25:] == ["z", "a'", "b'"]

    def test_wrong_input(self):
        comparisons = compare_means_of(average_precisions(8, 3), baseline=0)
        with pytest.raises(ValueError, match=r"models \(1, 2\) are not"):
            letters([3, 2, 1], ["a", "b", "c"], comparisons)
        comparisons = compare_means_of(average_precisions(8, 2))
        with pytest.raises(ValueError, match="all different"):
            letters([2, 1], ["a", "a"], comparisons)
