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

        def own_p(row, k):
            return np.mean([other[k] >= row[k] - 1e-9 for other in drawn])

        p_of = [[own_p(row, k) for k in range(len(pairs))] for row in drawn]
        own = p_of[0]  # the first signs leave the values as they are
        adjusted, so_far = {}, 0.0
        in_play = sorted(range(len(pairs)), key=lambda k: own[k])
        while in_play:
            k = in_play[0]
            smallest = [min(row[k] for k in in_play) for row in p_of]
            so_far = max(so_far, np.mean([value <= own[k] + 1e-9 for value in smallest]))
            adjusted[pairs[in_play.pop(0)]] = so_far
        comparisons = compare_means_of(np.array(tenths) / 10)
        for c in comparisons:
            assert c.p == pytest.approx(own[pairs.index((c.first, c.second))], abs=1e-12)
            assert c.p_adjusted == pytest.approx(adjusted[c.first, c.second], abs=1e-12)
        bounds = holm([c.p for c in comparisons])
        assert all(c.p_adjusted <= b + 1e-12 for c, b in zip(comparisons, bounds, strict=True))

    def test_a_near_copy_is_not_drowned_by_the_others(self):
        # 8 queries won, 235 tied, none lost: p is 2 / 2**8. Its sums have a lighter tail than those
        # of models that differ everywhere; against their largest, max-T, it would stand no chance.
        random = np.random.default_rng(0)
        values = random.random((9, 243))
        values[8] = values[0]
        values[8, :8] += random.uniform(0.01, 0.4, 8)
        comparisons = compare_means_of(values)
        near = by_pair(comparisons)[0, 8]
        assert (near.wins, near.ties, near.losses) == (0, 235, 8)
        assert near.p == pytest.approx(2 / 2**8, rel=0.1)
        bounds = dict(zip(by_pair(comparisons), holm([c.p for c in comparisons]), strict=True))
        assert near.p_adjusted <= bounds[0, 8]
        assert near.sparse
        assert sum(c.sparse for c in comparisons) == 1

    def test_a_small_sure_difference_beside_large_ones(self):
        # The first is better than the second on all ten queries, by little; the third is far off
        # both in either direction. Against the largest of all sums the first two do not differ.
        values = np.array([[0.51] * 10, [0.5] * 10, [0.9, 0.1] * 5])
        paired = [values[0] - values[1], values[0] - values[2], values[1] - values[2]]
        sums = np.abs(np.array(list(itertools.product((1, -1), repeat=10))) @ np.transpose(paired))
        assert np.mean(sums.max(axis=1) >= 0.1 - 1e-9) > 0.154
        comparisons = compare_means_of(values)
        assert comparisons[0].p == pytest.approx(2 / 2**10)
        assert comparisons[0].p_adjusted <= holm([c.p for c in comparisons])[0] < 0.006

    def test_resolvable_after_the_correction(self):
        values = average_precisions(60, 6)
        comparisons = compare_means_of(values)
        assert all(c.resolvable_adjusted > c.resolvable for c in comparisons)
        [alone] = compare_means_of(values[:2])  # a family of one is corrected for nothing
        assert alone.resolvable_adjusted == pytest.approx(alone.resolvable, rel=0.02)

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
    @pytest.mark.parametrize(("method", "rel"), [("pearson", 1e-9), ("spearman", 0.05)])
    def test_the_standard_error_against_the_jackknife(self, method, rel):
        subsets = [scored(40, seed=1), scored(60, seed=2)]
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
        assert c.error == pytest.approx(math.sqrt(variance), rel=rel)
        assert (c.high + c.low) / 2 == pytest.approx(difference, abs=1e-12)
        assert c.freedom == 98
        # On these scores, which are nearly normal, Student's distribution is near the resampled.
        assert c.p == pytest.approx(2 * stats.t.sf(abs(difference) / c.error, 98), abs=0.02)
        assert (c.high - c.low) / 2 == pytest.approx(stats.t.ppf(0.975, 98) * c.error, rel=0.08)
        quantiles = stats.t.ppf(0.975, 98) + stats.t.ppf(0.8, 98)
        assert c.resolvable == pytest.approx(quantiles * c.error, rel=0.08)
        assert c.resolvable_adjusted > c.resolvable
        assert (c.wins, c.ties, c.losses) == (None, None, None)

    def test_williams_test_stands_beside(self):
        gold, scores = scored(80)
        for c in compare_correlations_of([(gold, scores)], "pearson"):
            a, b = scores[c.first], scores[c.second]
            three = (np.corrcoef(pair)[0, 1] for pair in ((gold, a), (gold, b), (a, b)))
            assert c.p_williams == pytest.approx(williams_test(*three, 80).p_value, rel=1e-9)
            assert c.p != c.p_williams
        for subsets, method in (([(gold, scores)] * 2, "pearson"), ([(gold, scores)], "spearman")):
            found = compare_correlations_of(subsets, method)
            assert {c.p_williams for c in found} == {None}

    @pytest.mark.parametrize("level", [0.05, 0.01, 0.2])
    @pytest.mark.parametrize(("method", "n_subsets"), [("spearman", 1), ("pearson", 2)])
    def test_p_and_interval_say_the_same(self, method, n_subsets, level):
        subsets = [scored(80, n_models=8, seed=seed) for seed in range(n_subsets)]
        found = compare_correlations_of(subsets, method, level=level)
        assert {c.p <= level for c in found} == {True, False}
        for c in found:
            assert (c.p <= level) == (c.low > 0 or c.high < 0)

    def test_resampled_statistics_against_plain_loops(self, monkeypatch):
        monkeypatch.setattr(comparison, "_RESAMPLES", 50)
        monkeypatch.setattr(comparison, "_FEWEST", 50)
        subsets = [scored(12, n_models=2, seed=seed) for seed in (1, 2)]
        _, influences = comparison.influences_of(subsets, "pearson")
        pairs, order = comparison._Pairs.of(2, None), np.arange(2)
        found = comparison._resampled(influences, pairs, order, 0)
        random = np.random.default_rng(0)
        drawn = [random.integers(12, size=(50, 12)) for _ in subsets]
        for b in range(50):
            mean = variance = 0.0
            for rows, u in zip(drawn, influences, strict=True):
                # Back to influences whose mean is the difference: each is n times its share.
                d = (u[0] - u[1])[rows[b]] * math.sqrt(12 * 11)
                mean += d.mean()
                variance += d.var(ddof=0) / 11
            assert found[b, 0] == pytest.approx(abs(mean) / math.sqrt(variance), rel=1e-9)

    def test_adjusted_p_against_the_studentized_range(self):
        # Of models whose errors are alike and independent the largest difference has Tukey's
        # distribution: p is that of the range of k normal variables.
        random = np.random.default_rng(4)
        gold = random.standard_normal(1500)
        scores = gold + random.standard_normal((4, 1500))
        comparisons = compare_correlations_of([(gold, scores)], "pearson")
        smallest = min(comparisons, key=lambda c: c.p)
        z = stats.norm.isf(smallest.p / 2)
        expected = stats.studentized_range.sf(z * math.sqrt(2), 4, 1e6)
        assert 0.1 < expected < 0.9
        assert smallest.p_adjusted == pytest.approx(expected, abs=0.03)

    @BOTH
    def test_adjusted_between_none_and_holm(self, method):
        subsets = [scored(60, n_models=6, seed=seed) for seed in (4, 5)]
        comparisons = compare_correlations_of(subsets, method)
        p = np.array([c.p for c in comparisons])
        adjusted = np.array([c.p_adjusted for c in comparisons])
        assert (p <= adjusted).all()
        assert (adjusted <= holm(p) + 0.01).all()
        assert (np.diff(adjusted[np.argsort(p)]) >= -0.02).all()
        assert (adjusted < holm(p) - 0.02).any()

    def test_p_is_never_zero(self):
        gold, scores = scored(300, n_models=3)
        scores[2] = np.random.default_rng(6).standard_normal(300)
        c = by_pair(compare_correlations_of([(gold, scores)], "spearman"))[0, 2]
        assert c.p == c.p_adjusted == pytest.approx(1 / (comparison._RESAMPLES + 1))

    @BOTH
    def test_models_that_differ_on_few_pairs_have_an_exact_p(self, method):
        gold, (a, *_) = scored(30)
        b = a.copy()
        b[[3, 11, 20]] += [2.0, -1.5, 1.0]
        x, y = (stats.zscore(stats.rankdata(v) if method == "spearman" else v) for v in (a, b))
        differences = []
        for swapped in itertools.product((False, True), repeat=3):
            first, second = x.copy(), y.copy()
            for i, swap in zip((3, 11, 20), swapped, strict=True):
                if swap:
                    first[i], second[i] = y[i], x[i]
            differences.append(SCIPY[method](first, gold) - SCIPY[method](second, gold))
        expected = np.mean(np.abs(differences) >= abs(differences[0]) - 1e-9)
        [c] = compare_correlations_of([(gold, [a, b])], method)
        assert (c.differing, c.sparse) == (3, True)
        assert c.p == pytest.approx(expected, abs=1e-12)
        assert c.p_adjusted >= c.p

    def test_the_worst_null(self, monkeypatch):
        # Two systems with heavy errors of their own, standardised, whose scores change places at
        # random: nothing differs. Williams' test takes the errors for normal ones.
        monkeypatch.setattr(comparison, "_RESAMPLES", 199)
        monkeypatch.setattr(comparison, "_FEWEST", 199)
        random = np.random.default_rng(0)
        gold = random.standard_normal(500)
        scores = stats.zscore(gold + random.standard_t(2.5, (2, 500)), axis=1)
        found = [
            compare_correlations_of([(gold, random.permuted(scores, axis=0))], "pearson")[0]
            for _ in range(150)
        ]
        assert sum(c.p <= 0.05 for c in found) <= 14  # 7.5 are expected
        assert sum(c.p_williams <= 0.05 for c in found) >= 25

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
        # There is no spread, and Williams' test is undefined.
        gold = np.arange(20.0)
        [c] = compare_correlations_of([(gold, [gold, -gold])], method)
        assert c.difference == pytest.approx(2)
        assert (c.low, c.high) == pytest.approx((2, 2))
        assert 0 < c.p <= c.p_adjusted <= 1e-4
        assert c.p_williams is None

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
        Comparison(i, j, 0, 0, 0, 0.01, 0.05 if {i, j} in differing else 0.051, 0, 0, 0, 9, 20)
        for i, j in pairs
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
