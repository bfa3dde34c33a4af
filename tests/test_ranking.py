"""Ranking metrics: hand-computed values, brute force over the orders of ties, and pytrec_eval."""

from __future__ import annotations

import itertools
import math
import re
import subprocess
import sys

import numpy as np
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

from mteb_ext.errors import ProtocolError
from mteb_ext.metrics import ranking
from mteb_ext.metrics.ranking import Ranking

CUTS = (1, 2, 3, 5, 10)
TIE_ORDERS = ("expected", "later_first", "best", "worst")

# The metrics once more, of one list of labels in rank order, as plainly as they can be said.


def plain_average_precision(ranked, k):
    precisions = [
        sum(ranked[:rank]) / rank for rank, label in enumerate(ranked[:k], start=1) if label
    ]
    return sum(precisions) / sum(ranked) if any(ranked) else 0.0


def plain_reciprocal_rank(ranked, k):
    return 1 / (ranked.index(1) + 1) if any(ranked[:k]) else 0.0


def plain_precision(ranked, k):
    return sum(ranked[:k]) / k


def plain_recall(ranked, k):
    return sum(ranked[:k]) / sum(ranked) if any(ranked) else 0.0


def plain_ndcg(ranked, k):
    def dcg(labels):
        return sum(label / math.log2(1 + rank) for rank, label in enumerate(labels[:k], start=1))

    return dcg(ranked) / dcg(sorted(ranked, reverse=True)) if any(ranked) else 0.0


def plain_hit_rate(ranked, k):
    return float(any(ranked[:k]))


PLAIN = {
    "average_precision": plain_average_precision,
    "reciprocal_rank": plain_reciprocal_rank,
    "precision": plain_precision,
    "recall": plain_recall,
    "ndcg": plain_ndcg,
    "hit_rate": plain_hit_rate,
}
WHOLE_LIST = ("average_precision", "reciprocal_rank", "ndcg")
METRICS_AND_CUTS = [(name, k) for name in PLAIN for k in CUTS] + [(n, None) for n in WHOLE_LIST]


def flat(queries):
    """Arrays from a list of queries, each a list of (score, label)."""
    scores = [score for query in queries for score, _ in query]
    labels = [label for query in queries for _, label in query]
    offsets = np.cumsum([0, *map(len, queries)])
    return np.array(scores, dtype=float), np.array(labels, dtype=int), offsets


def orders(query):
    """The labels of a query in every order that its scores allow."""
    groups = [
        [label for score, label in query if score == level]
        for level in sorted({score for score, _ in query}, reverse=True)
    ]
    for arrangement in itertools.product(*map(itertools.permutations, groups)):
        yield list(itertools.chain(*arrangement))


def trec_eval(queries, measures):
    """What pytrec_eval says of each query, the candidates named by their positions."""
    names = [[f"{position:04d}" for position in range(len(query))] for query in queries]
    judged = {
        str(i): {name: int(label) for name, (_, label) in zip(names[i], query, strict=True)}
        for i, query in enumerate(queries)
    }
    run = {
        str(i): {name: float(score) for name, (score, _) in zip(names[i], query, strict=True)}
        for i, query in enumerate(queries)
    }
    results = pytrec_eval.RelevanceEvaluator(judged, measures).evaluate(run)
    return [results[str(i)] for i in range(len(queries))]


# Few distinct scores, so that most lists have ties; lists of several lengths, some empty.
tied_queries = st.lists(
    st.lists(st.tuples(st.sampled_from([0.0, 0.5, 1.0]), st.integers(0, 1)), max_size=6),
    max_size=4,
)


class TestByHand:
    def test_average_precision_without_ties(self):
        # Relevant at ranks 1 and 3: (1/1 + 2/3) / 2.
        assert Ranking([4, 3, 2, 1], [1, 0, 1, 0], [0, 4]).average_precision() == [
            pytest.approx(5 / 6, abs=1e-15)
        ]

    def test_candidates_in_any_order(self):
        # The same ranking as above, its candidates in another order.
        assert Ranking([1, 2, 4, 3], [0, 1, 1, 0], [0, 4]).average_precision() == [
            pytest.approx(5 / 6, abs=1e-15)
        ]

    def test_average_precision_at_k_divides_by_all_the_relevant(self):
        # Relevant at ranks 1 and 3; only rank 1 is within the cut: (1/1) / 2.
        assert Ranking([4, 3, 2, 1], [1, 0, 1, 0], [0, 4]).average_precision(k=2) == [0.5]

    def test_reciprocal_rank_and_its_cut(self):
        ranked = Ranking([4, 3, 2, 1], [0, 0, 1, 1], [0, 4])
        assert ranked.reciprocal_rank() == [1 / 3]
        assert ranked.reciprocal_rank(k=3) == [1 / 3]
        assert ranked.reciprocal_rank(k=2) == [0.0]

    def test_precision_divides_by_k_beyond_the_end(self):
        assert Ranking([2, 1], [1, 1], [0, 2]).precision(5) == [2 / 5]

    def test_recall(self):
        ranked = Ranking([4, 3, 2, 1], [1, 0, 1, 1], [0, 4])
        assert ranked.recall(2) == [1 / 3]
        assert ranked.recall(9) == [1.0]

    def test_ndcg(self):
        # Relevant at rank 2 alone: 1/log2(3) over 1/log2(2).
        assert Ranking([3, 2, 1], [0, 1, 0], [0, 3]).ndcg() == [pytest.approx(1 / math.log2(3))]

    def test_hit_rate(self):
        ranked = Ranking([3, 2, 1], [0, 1, 0], [0, 3])
        assert ranked.hit_rate(1) == [0.0]
        assert ranked.hit_rate(2) == [1.0]

    def test_a_pair_of_ties(self):
        # One of two tied candidates is relevant: rank 1 or 2, with equal chances.
        ranked = Ranking([1, 1], [0, 1], [0, 2])
        assert ranked.average_precision() == [0.75]
        assert ranked.reciprocal_rank() == [0.75]
        assert ranked.reciprocal_rank(k=1) == [0.5]
        assert ranked.precision(1) == [0.5]
        assert ranked.recall(1) == [0.5]
        assert ranked.hit_rate(1) == [0.5]
        assert ranked.ndcg() == [pytest.approx((1 + 1 / math.log2(3)) / 2)]

    def test_two_relevant_among_three_tied(self):
        # Orders 110, 101, 011: AP is 1, (1 + 2/3)/2 and (1/2 + 2/3)/2; RR is 1, 1 and 1/2.
        ranked = Ranking([7, 7, 7], [1, 0, 1], [0, 3])
        assert ranked.average_precision() == [pytest.approx((1 + 5 / 6 + 7 / 12) / 3, abs=1e-15)]
        assert ranked.reciprocal_rank() == [pytest.approx(5 / 6, abs=1e-15)]

    def test_a_tie_group_below_another_candidate(self):
        # Rank 2 or 3: (1/2 + 1/3) / 2.
        ranked = Ranking([0.9, 0.5, 0.5, 0.1], [0, 1, 0, 1], [0, 4])
        assert ranked.reciprocal_rank() == [pytest.approx(5 / 12, abs=1e-15)]

    def test_one_relevant_in_a_large_tie_group(self):
        # Its rank is uniform: the mean of 1/j is the harmonic number over the size.
        size = 5000
        expected = math.fsum(1 / j for j in range(1, size + 1)) / size
        ranked = Ranking(np.zeros(size), np.arange(size) == 17, [0, size])
        assert ranked.reciprocal_rank() == [pytest.approx(expected, abs=1e-14)]
        assert ranked.average_precision() == [pytest.approx(expected, abs=1e-14)]

    def test_many_relevant_in_a_large_tie_group(self):
        # Exact integers: P(first at j) = C(size - j, relevant - 1) / C(size, relevant).
        size, relevant = 3000, 40
        total = math.comb(size, relevant)
        expected = math.fsum(
            math.comb(size - j, relevant - 1) / total / (j + 1)
            for j in range(1, size - relevant + 2)
        )
        scores = np.r_[1.0, np.zeros(size)]
        labels = np.r_[0, np.arange(size) < relevant]
        ranked = Ranking(scores, labels, [0, size + 1])
        assert ranked.reciprocal_rank() == [pytest.approx(expected, abs=1e-13)]
        missed = math.comb(size - 50, relevant) / total
        assert ranked.hit_rate(51) == [pytest.approx(1 - missed, abs=1e-13)]

    @pytest.mark.parametrize(
        ("ties", "expected"),
        [("best", 1.0), ("worst", 1 / 3), ("later_first", 1 / 2), ("expected", 11 / 18)],
    )
    def test_tie_orders(self, ties, expected):
        # The relevant candidate is the second of three tied ones.
        ranked = Ranking([1, 1, 1], [0, 1, 0], [0, 3], ties=ties)
        assert ranked.reciprocal_rank() == [pytest.approx(expected, abs=1e-15)]

    def test_ties_across_labels_are_flagged(self):
        queries = [
            [(1, 1), (1, 0)],  # a tie of both labels
            [(1, 1), (1, 1), (0, 0)],  # a tie of relevant candidates only
            [(1, 1), (0, 0), (0, 0)],  # a tie of others only
            [],
            [(2, 0), (1, 1)],  # no tie
        ]
        for ties in TIE_ORDERS:
            flags = Ranking(*flat(queries), ties=ties).tied_across_labels
            assert flags.tolist() == [True, False, False, False, False]

    def test_queries_without_candidates_or_without_relevant_ones(self):
        ranked = Ranking([1, 2, 3], [0, 0, 1], [0, 0, 2, 2, 3, 3])
        assert ranked.n_relevant.tolist() == [0, 0, 0, 1, 0]
        for name, k in METRICS_AND_CUTS:
            values = getattr(ranked, name)(k)
            expected = 1 / k if name == "precision" else 1.0
            assert values.tolist() == [0.0, 0.0, 0.0, expected, 0.0]
            assert values.dtype == np.float64

    def test_no_relevant_candidate_at_all(self):
        for name, k in METRICS_AND_CUTS:
            values = getattr(Ranking([1, 2], [0, 0], [0, 2]), name)(k)
            assert values.tolist() == [0.0]
            assert values.dtype == np.float64

    def test_no_queries(self):
        assert Ranking([], [], [0]).average_precision().shape == (0,)


class TestTypesOfScores:
    def test_ties_are_judged_in_the_given_type(self):
        # 1 + 2**-11 is 1 in float16, but not in float32.
        scores = [1.0, 1 + 2**-11]
        assert Ranking(np.float16(scores), [1, 0], [0, 2]).reciprocal_rank() == [0.75]
        assert Ranking(np.float32(scores), [1, 0], [0, 2]).reciprocal_rank() == [0.5]

    def test_zeros_of_both_signs_tie(self):
        for ties, expected in [("expected", 0.75), ("later_first", 1.0)]:
            ranked = Ranking([-0.0, 0.0], [0, 1], [0, 2], ties=ties)
            assert ranked.reciprocal_rank() == [expected]
            ranked = Ranking([0.0, -0.0], [0, 1], [0, 2], ties=ties)
            assert ranked.reciprocal_rank() == [expected]

    def test_integers_that_float64_cannot_tell_apart(self):
        scores = np.array([2**62, 2**62 + 1])
        assert Ranking(scores, [1, 0], [0, 2]).reciprocal_rank() == [0.5]

    @pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="longdouble is float64 here")
    def test_long_doubles_that_float64_cannot_tell_apart(self):
        scores = 1 + np.array([0, 1]) * np.finfo(np.longdouble).eps
        assert Ranking(scores, [1, 0], [0, 2]).reciprocal_rank() == [0.5]

    @pytest.mark.parametrize("dtype", [">f8", ">f4", ">i8"])
    def test_other_byte_orders(self, dtype):
        scores = np.array([1, 256, 3], dtype)
        for ties in TIE_ORDERS:
            ranked = Ranking(scores, [0, 0, 1], [0, 3], ties=ties)
            assert ranked.reciprocal_rank() == [0.5]

    def test_unsigned_and_smallest_integers(self):
        assert Ranking(np.array([0, 255], np.uint8), [1, 0], [0, 2]).reciprocal_rank() == [0.5]
        smallest = np.array([-128, 127], np.int8)
        assert Ranking(smallest, [0, 1], [0, 2]).reciprocal_rank() == [1.0]


class TestAgainstBruteForce:
    @given(tied_queries)
    @settings(max_examples=60, deadline=None)
    def test_mean_best_and_worst_over_every_order(self, queries):
        rankings = {ties: Ranking(*flat(queries), ties=ties) for ties in TIE_ORDERS}
        all_orders = [list(orders(query)) for query in queries]
        for name, k in METRICS_AND_CUTS:
            values = [
                [PLAIN[name](ranked, k) for ranked in ranked_lists] for ranked_lists in all_orders
            ]
            computed = {ties: getattr(r, name)(k) for ties, r in rankings.items()}
            for ties, summary in [("expected", np.mean), ("best", max), ("worst", min)]:
                expected = [summary(query_values) for query_values in values]
                np.testing.assert_allclose(computed[ties], expected, rtol=0, atol=1e-12)

    @given(tied_queries)
    @settings(max_examples=60, deadline=None)
    def test_flags_of_ties_across_labels(self, queries):
        expected = [
            any(a == b and label_a != label_b for a, label_a in query for b, label_b in query)
            for query in queries
        ]
        assert Ranking(*flat(queries)).tied_across_labels.tolist() == expected


class TestAgainstTrecEval:
    MEASURES = ("map", "recip_rank", "ndcg", "map_cut", "ndcg_cut", "P", "recall", "success")

    @pytest.mark.parametrize("levels", [10**6, 4], ids=["few ties", "many ties"])
    def test_every_measure(self, levels):
        random = np.random.default_rng(5)
        queries = [
            [
                (score / levels, label)
                for score, label in zip(
                    random.integers(levels, size=length),
                    random.integers(2, size=length),
                    strict=True,
                )
            ]
            for length in random.integers(1, 40, size=200)
        ]
        ranked = Ranking(*flat(queries), ties="later_first")
        ours = {
            "map": ranked.average_precision(),
            "recip_rank": ranked.reciprocal_rank(),
            "ndcg": ranked.ndcg(),
            **{f"map_cut_{k}": ranked.average_precision(k) for k in (5, 10, 100)},
            **{f"ndcg_cut_{k}": ranked.ndcg(k) for k in (5, 10, 100)},
            **{f"P_{k}": ranked.precision(k) for k in (5, 10, 100)},
            **{f"recall_{k}": ranked.recall(k) for k in (5, 10, 100)},
            **{f"success_{k}": ranked.hit_rate(k) for k in (1, 5, 10)},
        }
        theirs = trec_eval(queries, self.MEASURES)
        for name, values in ours.items():
            expected = [result[name] for result in theirs]
            np.testing.assert_allclose(values, expected, rtol=0, atol=1e-9, err_msg=name)

    def test_without_ties_every_order_agrees(self):
        random = np.random.default_rng(6)
        queries = [
            list(zip(random.permutation(30), random.integers(2, size=30), strict=True))
            for _ in range(50)
        ]
        expected = [result["map"] for result in trec_eval(queries, {"map"})]
        for ties in TIE_ORDERS:
            ours = Ranking(*flat(queries), ties=ties).average_precision()
            np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-9)

    @pytest.mark.filterwarnings("error")
    @pytest.mark.parametrize(
        ("first", "second"),
        [
            (1.0 + 1e-12, 1.0),  # differ in float64 only
            (1.0, 1.0 + 1e-12),
            (1.0 + 1e-6, 1.0),  # differ in float32 too
            (1.0, 1.0 + 1e-6),
            (1e39, 1e300),  # both infinite in float32
            (1e-50, 0.0),  # both zero in float32
            (16777217, 16777216),  # integers that float32 cannot tell apart
            (2**60 + 2**36 + 1, 2**60),  # alike after float64 only: rounded twice
            (-0.0, 0.0),
        ],
    )
    def test_scores_are_compared_as_float32(self, first, second):
        ours = Ranking([first, second], [1, 0], [0, 2], ties="later_first").reciprocal_rank()
        [theirs] = trec_eval([[(first, 1), (second, 0)]], {"recip_rank"})
        assert ours == [theirs["recip_rank"]]

    def test_the_later_of_two_tied_candidates_comes_first(self):
        assert Ranking([1, 1], [0, 1], [0, 2], ties="later_first").reciprocal_rank() == [1.0]
        assert Ranking([1, 1], [1, 0], [0, 2], ties="later_first").reciprocal_rank() == [0.5]

    def test_an_order_by_1e_12_counts_for_the_default(self):
        assert Ranking([1.0, 1.0 + 1e-12], [1, 0], [0, 2]).reciprocal_rank() == [0.5]


class TestInvariances:
    @given(tied_queries)
    @settings(max_examples=50, deadline=None)
    def test_increasing_transforms_of_the_scores(self, queries):
        scores, labels, offsets = flat(queries)
        plain, transformed = (
            Ranking(values, labels, offsets) for values in (scores, np.exp(3 * scores) - 100)
        )
        for name, k in METRICS_AND_CUTS:
            assert np.array_equal(getattr(plain, name)(k), getattr(transformed, name)(k))

    @given(tied_queries, st.randoms(use_true_random=False))
    @settings(max_examples=50, deadline=None)
    def test_the_order_of_candidates_does_not_matter(self, queries, random):
        shuffled = [random.sample(query, len(query)) for query in queries]
        for ties in ("expected", "best", "worst"):
            plain, moved = (Ranking(*flat(q), ties=ties) for q in (queries, shuffled))
            for name, k in METRICS_AND_CUTS:
                assert np.array_equal(getattr(plain, name)(k), getattr(moved, name)(k))

    @given(tied_queries)
    @settings(max_examples=50, deadline=None)
    def test_queries_do_not_affect_each_other(self, queries):
        together = Ranking(*flat(queries))
        alone = [Ranking(*flat([query])) for query in queries]
        for name, k in METRICS_AND_CUTS:
            expected = [getattr(single, name)(k)[0] for single in alone]
            assert getattr(together, name)(k).tolist() == expected

    @given(tied_queries)
    @settings(max_examples=50, deadline=None)
    def test_every_value_is_a_share(self, queries):
        for ties in TIE_ORDERS:
            ranked = Ranking(*flat(queries), ties=ties)
            for name, k in METRICS_AND_CUTS:
                values = getattr(ranked, name)(k)
                assert ((values >= 0) & (values <= 1)).all()

    def test_a_certain_hit_is_not_above_one(self):
        # The chances of the ten ranks to hold the first relevant candidate add up to 1 + 2e-16.
        certain = Ranking(np.zeros(10), np.arange(10) < 4, [0, 10]).hit_rate(10)
        assert certain == [pytest.approx(1.0, abs=1e-15)]
        assert certain <= 1

    def test_several_blocks_give_what_one_gives(self, monkeypatch):
        random = np.random.default_rng(7)
        lengths = random.integers(0, 9, size=300)
        offsets = np.cumsum([0, *lengths])
        scores = random.integers(4, size=offsets[-1])
        labels = random.integers(2, size=offsets[-1])
        whole = Ranking(scores, labels, offsets).average_precision()
        monkeypatch.setattr(ranking, "_BLOCK", 20)
        assert np.array_equal(Ranking(scores, labels, offsets).average_precision(), whole)

    def test_average_precision_by_parts_is_the_method(self, monkeypatch):
        arguments = ([3, 1, 1, 2, 9], [0, 1, 0, 1, 1], [0, 1, 1, 4, 5])
        # The second list is empty; in the third, ranks 1 and (2 or 3): (1 + (2/2 + 2/3) / 2) / 2.
        expected = [0.0, 0.0, 11 / 12, 1.0]
        for part in (1, 2, 100):
            monkeypatch.setattr(ranking, "_PART", part)
            found = ranking.average_precision(*arguments)
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-15)


class TestInvalidInput:
    @pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
    def test_a_score_that_is_not_finite(self, bad):
        with pytest.raises(ProtocolError, match=f"candidate 1 of query 2 is {bad}: .* finite"):
            Ranking([1, 2, 3, 4, bad], [0] * 5, [0, 3, 3, 5])

    def test_a_masked_score_or_label(self):
        masked = np.ma.masked_equal([0, 1, 1, 9], 9)
        with pytest.raises(ProtocolError, match="score of candidate 1 of query 1 is masked"):
            Ranking(masked, [0] * 4, [0, 2, 4])
        with pytest.raises(ValueError, match="label of candidate 1 of query 1 is masked"):
            Ranking([1, 2, 3, 4], masked, [0, 2, 4])

    def test_scores_that_are_not_real(self):
        with pytest.raises(ProtocolError, match="scores must be real numbers, not complex128"):
            Ranking([1j], [1], [0, 1])

    @pytest.mark.parametrize("bad", [2, -1, 0.5])
    def test_a_label_that_is_not_binary(self, bad):
        with pytest.raises(ValueError, match=f"candidate 0 of query 1 is {float(bad)}; .* 0 or 1"):
            Ranking([1, 2], [1.0, bad], [0, 1, 2])

    @pytest.mark.parametrize(
        ("offsets", "message"),
        [
            ([], "at least one integer"),
            ([[0, 2]], "at least one integer, not int64 of shape (1, 2)"),
            ([0.0, 2.0], "at least one integer, not float64"),
            ([1, 2], "must start at 0, not at 1"),
            ([0, 2, 1, 2], "must not fall: offset 2 is 1 after 2"),
            ([0, 3], "scores must have shape (3,) to match the last offset, not (2,)"),
            ([0, 1], "scores must have shape (1,) to match the last offset, not (2,)"),
        ],
    )
    def test_malformed_offsets(self, offsets, message):
        with pytest.raises(ValueError, match=re.escape(message)):
            Ranking([1.0, 2.0], [0, 1], offsets)

    def test_offsets_of_unsigned_integers_that_fall(self):
        with pytest.raises(ValueError, match="must not fall"):
            Ranking([1.0, 2.0], [0, 1], np.array([0, 2, 1, 2], dtype=np.uint64))

    def test_labels_of_another_length(self):
        with pytest.raises(ValueError, match="labels must have shape"):
            Ranking([1.0, 2.0], [0], [0, 2])

    @pytest.mark.parametrize("name", PLAIN)
    def test_a_cut_below_one(self, name):
        with pytest.raises(ValueError, match="k must be at least 1, not 0"):
            getattr(Ranking([1.0], [1], [0, 1]), name)(0)

    def test_an_unknown_order_of_ties(self):
        with pytest.raises(
            ValueError, match="one of expected, later_first, best, worst, not 'rand'"
        ):
            Ranking([1.0], [1], [0, 1], ties="rand")


def test_ir_measures_agrees_where_nothing_ties():
    import ir_measures
    from ir_measures import AP, RR, P, R, nDCG

    rng = np.random.default_rng(11)
    sizes = rng.integers(1, 40, size=25)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    scores = rng.permutation(offsets[-1]) / offsets[-1]
    labels = rng.integers(0, 2, size=offsets[-1])
    labels[offsets[:-1]] = 1
    qrels, run = [], []
    for q in range(sizes.size):
        for i in range(offsets[q], offsets[q + 1]):
            qrels.append(ir_measures.Qrel(str(q), str(i), int(labels[i])))
            run.append(ir_measures.ScoredDoc(str(q), str(i), float(scores[i])))
    ranking = Ranking(scores, labels, offsets)
    ours = {
        AP: ranking.average_precision(),
        RR: ranking.reciprocal_rank(),
        P @ 5: ranking.precision(5),
        R @ 5: ranking.recall(5),
        nDCG @ 10: ranking.ndcg(10),
    }
    found = {
        (metric.measure, int(metric.query_id)): metric.value
        for metric in ir_measures.iter_calc(list(ours), qrels, run)
    }
    assert len(found) == len(ours) * sizes.size
    for (measure, q), value in found.items():
        assert ours[measure][q] == pytest.approx(value, abs=1e-9), (measure, q)


@pytest.mark.process
def test_metrics_need_neither_torch_nor_mteb():
    code = (
        "import sys; import mteb_ext.metrics.ranking, mteb_ext.metrics.significance; "
        "print(sorted({'torch', 'mteb', 'pandas'} & set(sys.modules)))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
