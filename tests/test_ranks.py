"""Ranks with simultaneous sets: by hand, a brute-force covariance, and their coverage."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from mteb_ext.metrics import ranks
from mteb_ext.metrics.comparison import compare_means_of
from mteb_ext.metrics.ranks import TestSetScores, borda, overall_ranks, rank_sets

TestSetScores.__test__ = False


def test_rank_sets_by_hand():
    # The first is surely better than the third; nothing else is sure.
    comparisons = [
        replace(c, difference=0.1, p_adjusted=0.05 if (c.first, c.second) == (0, 2) else 0.06)
        for c in compare_means_of(np.random.default_rng(0).random((3, 6)))
    ]
    assert rank_sets(3, comparisons) == [(1, 2), (1, 3), (2, 3)]
    assert rank_sets(3, [replace(c, difference=-0.1) for c in comparisons])[0] == (2, 3)
    assert rank_sets(3, comparisons, level=0.01) == [(1, 3)] * 3


def queries(values, names):
    """A test set of queries: the mean of each model, and the influences on it."""
    n = values.shape[1]
    centred = values - values.mean(axis=1, keepdims=True)
    return TestSetScores(values.mean(axis=1), centred / np.sqrt(n * (n - 1)), names)


def made_up(n=80, shifts=(0.0, 0.1, 1.5), seed=0):
    random = np.random.default_rng(seed)
    return random.standard_normal(n) + random.standard_normal((len(shifts), n)) + np.c_[[*shifts]]


def test_places_by_hand():
    values = [made_up(seed=1), 10 * made_up(seed=2)]
    test_sets = [queries(v, [f"{t} {i}" for i in range(80)]) for t, v in enumerate(values)]
    found = overall_ranks(test_sets)
    scores = np.array([v.mean(axis=1) for v in values])
    z = np.mean([(s - s.mean()) / s.std() for s in scores], axis=0)
    assert [r.mean_z for r in found] == pytest.approx(list(z))
    assert [r.rank for r in found] == [sorted(-z).index(-value) + 1 for value in z]
    assert (found[2].rank_low, found[2].rank_high) == (1, 1)
    assert [(r.rank_low, r.rank_high) for r in found[:2]] == [(2, 3), (2, 3)]
    for r in found:
        assert r.mean_z_low < r.mean_z < r.mean_z_high
        assert r.borda_low <= r.borda <= r.borda_high


def test_borda_counts_half_a_point_for_a_tie():
    # Points: 2 + 0.5, 1 + 0.5 and 0 + 2.
    assert borda(np.array([[0.9, 0.5, 0.1], [0.2, 0.2, 0.8]])).tolist() == [1, 3, 2]
    assert borda(np.array([[0.9, 0.5], [0.2, 0.8]])).tolist() == [1, 1]


def test_items_of_one_content_move_together():
    values, names = made_up(), [f"{i}" for i in range(80)]
    once = overall_ranks([queries(values, names)])
    shared = overall_ranks([queries(values, names)] * 2)
    apart = overall_ranks([queries(values, names), queries(values, [f"other {n}" for n in names])])
    width = [r[0].mean_z_high - r[0].mean_z_low for r in (once, shared, apart)]
    assert width[1] == pytest.approx(width[0], rel=0.03)  # the second says nothing new
    assert width[2] == pytest.approx(width[0] / np.sqrt(2), rel=0.03)


def test_covariance_against_a_loop():
    test_sets = [
        queries(made_up(4, seed=1), ["a", "b", "c", "a"]),
        queries(made_up(3, seed=2), ["c", "d", "a"]),
    ]
    found = ranks._covariance(test_sets)
    flat = [(t, m) for t in range(2) for m in range(3)]
    for (i, (t, m)), (j, (u, k)) in itertools.product(enumerate(flat), repeat=2):
        expected = sum(
            test_sets[t].influences[m, a] * test_sets[u].influences[k, b]
            for a, item in enumerate(test_sets[t].items)
            for b, other in enumerate(test_sets[u].items)
            if item == other
        )
        assert found[i, j] == pytest.approx(expected, abs=1e-12)


def test_copies_and_a_single_model():
    values = made_up(30, shifts=(0, 0))
    values[1] = values[0]
    both = overall_ranks([queries(values, [*map(str, range(30))])])
    assert {(r.rank, r.rank_low, r.rank_high, r.borda, r.mean_z) for r in both} == {(1, 1, 2, 1, 0)}
    [alone] = overall_ranks([queries(values[:1], [*map(str, range(30))])])
    assert (alone.rank, alone.rank_low, alone.rank_high) == (1, 1, 1)
    assert (alone.borda_low, alone.borda_high, alone.mean_z_low, alone.mean_z_high) == (1, 1, 0, 0)


@pytest.mark.slow
def test_sets_hold_the_true_ranks_together(monkeypatch):
    monkeypatch.setattr(ranks, "_DRAWS", 999)
    shifts, truth, held = (0.0, 0.01, 0.02, 0.5, 0.51), [5, 4, 3, 2, 1], 0
    for seed in range(200):
        test_sets = [
            queries(made_up(60, shifts, seed=1000 * t + seed), [f"{t} {i}" for i in range(60)])
            for t in range(2)
        ]
        found = overall_ranks(test_sets, seed=seed)
        held += all(r.rank_low <= rank <= r.rank_high for r, rank in zip(found, truth, strict=True))
    assert held >= 188  # of 200; the share is 95% or more
