"""How sure ranks are: on one test set from its comparisons, over several by joint normal draws.

A set of ranks that holds the true one is what surely better and surely worse models leave
(Mogstad, Romano, Shaikh and Wilhelm, "Inference for Ranks with Applications to Mobility across
Neighbourhoods and Academic Achievement across Countries", Review of Economic Studies 2024). The
sets of all models hold together with a chance of 95% where the comparisons are corrected for each
other at the level of 5%. Percentiles of bootstrapped ranks are no such sets: among models that
nearly tie they hold together in less than half of all cases.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import stats

from mteb_ext.metrics.comparison import LEVEL, Comparison
from mteb_ext.metrics.step_down import step_down_max

__all__ = ["OverallRank", "TestSetScores", "overall_ranks", "rank_sets"]

_Float: TypeAlias = npt.NDArray[np.float64]
_Int: TypeAlias = npt.NDArray[np.int64]

_SEED = 0
_DRAWS = 9999
_ROUNDING = 1e-12  # scores from 0 to 1 that differ by less are equal


@dataclass(frozen=True)
class TestSetScores:
    """The models' scores on a test set, and what each of its items contributes to them.

    Attributes:
        scores: ``(N,)`` scores.
        influences: ``(N, n)`` influences of the items, scaled so that the squared standard error
            of a score is the sum of their squares.
        items: ``(n,)`` what each item is, by content. The same item of another test set has the
            same name, and is drawn together with it.
    """

    scores: _Float
    influences: _Float
    items: Sequence[str]


@dataclass(frozen=True)
class OverallRank:
    """A model's place over several test sets.

    Attributes:
        rank: By ``mean_z``; 1 is the best, and equal models share the better rank.
        rank_low: The best rank that is not ruled out.
        rank_high: The worst one.
        borda: By the Borda count. On each test set a model gets a point for every other that
            scores lower, and half a point for one that scores alike.
        borda_low: The best Borda rank among the draws inside the confidence region of all scores.
        borda_high: The worst one.
        mean_z: The mean over the test sets of the score, centred and scaled over the models.
        mean_z_low: The lower end of its interval, simultaneous for all models.
        mean_z_high: The upper end.
    """

    rank: int
    rank_low: int
    rank_high: int
    borda: int
    borda_low: int
    borda_high: int
    mean_z: float
    mean_z_low: float
    mean_z_high: float


def rank_sets(
    n_models: int, comparisons: Sequence[Comparison], *, level: float = LEVEL
) -> list[tuple[int, int]]:
    """The ranks that comparisons of every pair leave to each model.

    Args:
        n_models: How many models there are.
        comparisons: Those of every pair.
        level: Differences count as sure up to this ``p_adjusted``.

    Returns:
        For each model its lowest rank, 1 + the number of surely better models, and its highest,
        the number of models minus the number of surely worse ones.
    """
    better, worse = np.zeros((2, n_models), dtype=int)
    for c in comparisons:
        if c.p_adjusted <= level:
            winner, loser = (c.first, c.second) if c.difference > 0 else (c.second, c.first)
            better[loser] += 1
            worse[winner] += 1
    return [(1 + int(b), n_models - int(w)) for b, w in zip(better, worse, strict=True)]


def overall_ranks(
    test_sets: Sequence[TestSetScores], *, level: float = LEVEL, seed: int = _SEED
) -> list[OverallRank]:
    """Rank models over test sets, and say how sure the ranks are.

    The test sets are fixed; their items are the sample. The scale of a test set, the standard
    deviation of the models' scores, is held fixed too, and depends on the models that are given.

    Args:
        test_sets: Scores of the same models on each, of one model or more.
        level: One minus the confidence.
        seed: Seed of the normal draws.

    Returns:
        Each model's place.
    """
    scores = np.array([test_set.scores for test_set in test_sets])
    spread = scores.std(axis=1, keepdims=True)
    flat = spread < _ROUNDING
    scale = np.where(flat, 1.0, spread)
    means = (np.where(flat, 0.0, scores - scores.mean(axis=1, keepdims=True)) / scale).mean(axis=0)
    covariance = _covariance(test_sets)
    drawn = _normal_draws(covariance, seed).reshape(_DRAWS, *scores.shape)
    moved = (drawn / scale).mean(axis=1)

    first, second = np.triu_indices(len(means), k=1)
    low, high = np.ones(len(means), dtype=int), np.full(len(means), len(means))
    if first.size:
        statistics, resampled = _studentised(means, moved, first, second)
        sure = step_down_max(statistics, resampled, level).adjusted <= level
        better = means[first] > means[second]
        np.add.at(low, np.where(better, second, first)[sure], 1)
        np.subtract.at(high, np.where(better, first, second)[sure], 1)

    centred = moved - moved.mean(axis=1, keepdims=True)
    errors = centred.std(axis=0)
    reach = np.quantile(_ratio(np.abs(centred), errors).max(axis=1), 1 - level)
    borda_low, borda_high = _borda_range(scores, drawn, first, second, level)
    columns = (
        *(_places(means[np.newaxis])[0], low, high),
        *(borda(scores), borda_low, borda_high),
    )
    ends = means, means - reach * errors, means + reach * errors
    return [
        OverallRank(*map(int, ranks), *map(float, of_mean))
        for ranks, of_mean in zip(zip(*columns, strict=True), zip(*ends, strict=True), strict=True)
    ]


def borda(scores: _Float) -> _Int:
    """Borda ranks of ``(..., T, N)`` scores of N models on T test sets: ``(..., N)``."""
    points = stats.rankdata(np.round(scores, 12), axis=-1).sum(axis=-2)
    return _places(points)


def _places(values: _Float) -> _Int:
    """Ranks along the last axis, 1 for the largest; equal ones share the better rank."""
    ranks: _Int = stats.rankdata(-np.round(values, 12), method="min", axis=-1).astype(np.int64)
    return ranks


def _covariance(test_sets: Sequence[TestSetScores]) -> _Float:
    """Covariance of all scores, test set by test set: items of one content move together."""
    places: dict[str, int] = {}
    codes = [
        [places.setdefault(item, len(places)) for item in test_set.items] for test_set in test_sets
    ]
    rows = []
    for test_set, items in zip(test_sets, codes, strict=True):
        together = np.zeros((len(places), len(test_set.influences)))
        np.add.at(together, items, test_set.influences.T)
        rows.append(together.T)
    joint = np.concatenate(rows)
    covariance: _Float = joint @ joint.T
    return covariance


def _normal_draws(covariance: _Float, seed: int) -> _Float:
    """``(B, D)`` normal draws of the errors of all scores."""
    roots, vectors = np.linalg.eigh(covariance)
    factor = vectors * np.sqrt(np.maximum(roots, 0.0))
    drawn = np.random.default_rng(seed).standard_normal((_DRAWS, roots.size)) @ factor.T
    return np.where(np.abs(drawn) < _ROUNDING, 0.0, drawn)


def _studentised(values: _Float, drawn: _Float, first: _Int, second: _Int) -> tuple[_Float, _Float]:
    """``(P,)`` absolute differences of models over their standard errors, and ``(B, P)`` drawn."""
    differences = drawn[:, first] - drawn[:, second]
    errors = differences.std(axis=0)
    errors[errors < _ROUNDING] = 0.0
    observed = values[first] - values[second]
    observed[np.abs(observed) < _ROUNDING] = 0.0
    return _ratio(np.abs(observed), errors), _ratio(np.abs(differences), errors)


def _borda_range(
    scores: _Float, drawn: _Float, first: _Int, second: _Int, level: float
) -> tuple[_Int, _Int]:
    """The best and the worst Borda ranks among the draws inside the region of all differences."""
    farthest = np.zeros(len(drawn))
    if first.size:
        for task in range(len(scores)):
            _, resampled = _studentised(scores[task], drawn[:, task], first, second)
            farthest = np.maximum(farthest, resampled.max(axis=1))
    inside = drawn[farthest <= np.quantile(farthest, 1 - level)]
    ranks = np.concatenate([borda(scores - inside), borda(scores)[np.newaxis]])
    return ranks.min(axis=0), ranks.max(axis=0)


def _ratio(numerator: _Float, denominator: _Float) -> _Float:
    """Quotient that is 0 where the numerator is, and infinite where only the denominator is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        result: _Float = np.where(numerator == 0, 0.0, numerator / denominator)
    return result
