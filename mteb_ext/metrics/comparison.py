"""Many models on one test set: how far they differ, how sure that is, and which belong together.

A mean over queries and a correlation are treated alike. Both are, up to terms of order 1/n, means
of what each observation contributes: its value, or its influence on the correlation (see
`mteb_ext.metrics.significance`). The difference of two models is then a mean of paired
differences, and the spread of these gives its standard error: what the paired bootstrap
approaches with ever more resamples, without drawing any.

The tests. Means over queries: the paired randomization test (Fisher; Smucker, Allan and
Carterette, CIKM 2007), which is exact. Pearson's correlation on one subset: Williams' test.
Spearman's correlation, and means of correlations over several subsets: the difference over its
standard error, which is normal in large samples. Williams' test is not for these: its variance is
that of Pearson's correlation of normal variables, and with Spearman's it rejects up to 7% of true
hypotheses at the level of 5%.

Families. The p-values of all comparisons of a test set are corrected together by the step-down
max-T procedure (Westfall and Young, "Resampling-Based Multiple Testing", 1993, algorithm 4.1;
Romano and Wolf, Econometrica 2005): an adjusted p is the chance that the largest of the test
statistics still in play is as large as this one if no two of their models differ. It takes into
account how the comparisons depend on each other, so that it rejects whatever Holm's correction
does, and more. For means the joint distribution is that of the same random signs as in the test;
for correlations it is the multivariate normal one (Hothorn, Bretz and Westfall, Biometrical
Journal 2008).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import combinations
from string import ascii_lowercase
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import special, stats

from mteb_ext.errors import UndefinedMetricError
from mteb_ext.metrics.arrays import finite_numbers
from mteb_ext.metrics.correlation import pearson
from mteb_ext.metrics.significance import Method, PairedSample, holm, williams_test

__all__ = ["Comparison", "compare_correlations_of", "compare_means_of", "letters"]

_Float: TypeAlias = npt.NDArray[np.float64]
_Int: TypeAlias = npt.NDArray[np.int64]

_SEED = 0
_DRAWS = 1 << 16  # of random signs, or of the normal distribution
_BLOCK = 1 << 20  # numbers drawn at a time: bounds the memory
_ROUNDING = 1e-12  # differences of scores from 0 to 1 below it are none
_TIED = 1e-9  # test statistics that differ by less are equal


@dataclass(frozen=True)
class Comparison:
    """The difference of two models on a test set.

    Attributes:
        first: Index of the first model.
        second: Index of the second model.
        difference: The first model's score minus the second's.
        low: Lower end of the 95% interval of the difference.
        high: Its upper end.
        p: Two-sided p-value, above 0.
        p_adjusted: The same, corrected for all comparisons of the family; not below ``p``.
        resolvable: The smallest true difference that a test at the level of 5% would find with a
            chance of 80%, given the observed paired spread.
        wins: Queries on which the first model scores higher; None for correlations.
        ties: Queries on which both score alike; None for correlations.
        losses: Queries on which the second scores higher; None for correlations.
    """

    first: int
    second: int
    difference: float
    low: float
    high: float
    p: float
    p_adjusted: float
    resolvable: float
    wins: int | None = None
    ties: int | None = None
    losses: int | None = None


def compare_means_of(
    values: npt.ArrayLike, *, baseline: int | None = None, seed: int = _SEED
) -> list[Comparison]:
    """Compare the means of models over the same queries, for example MAP.

    Args:
        values: ``(N, n)`` each model's value for each query, for example average precisions.
        baseline: Compare all other models with this one; by default every pair is compared.
        seed: Seed of the random signs. Up to 16 queries all signs are enumerated instead, and
            the p-values are exact.

    Returns:
        The comparisons: of pairs ``i < j`` in order, or of each other model with the baseline.
        The interval is Student's of the paired differences.

    Raises:
        UndefinedMetricError: There are fewer than 2 models or 2 queries, or a value is not a
            finite real number.
        ValueError: ``baseline`` is no index of a model.
    """
    n = np.shape(values)[-1] if np.ndim(values) else 0
    array = finite_numbers(
        values, "values", lambda i: "the value of model {} for query {}".format(*divmod(i, n))
    )
    if array.ndim != 2 or array.shape[0] < 2 or array.shape[1] < 2:
        raise UndefinedMetricError(
            "comparing means needs values of at least 2 models for the same queries, at least 2, "
            f"not an array of shape {array.shape}"
        )
    array = array.astype(np.float64)
    pairs = _Pairs.of(array.shape[0], baseline)
    paired = _without_rounding(array[pairs.first] - array[pairs.second])
    # The sum of squares is the same for all signs: it only brings the pairs to one scale.
    roots = np.sqrt((paired**2).sum(axis=1))
    order = _canonical_order(array)
    canonical = array[order]
    signed = _signed_sums(canonical[:, np.lexsort(canonical)], seed)
    p, adjusted = _max_t(_ratio(np.abs(paired.sum(axis=1)), roots), roots, pairs, order, signed)
    differences = _without_rounding(paired.mean(axis=1))
    errors = paired.std(axis=1, ddof=1) / math.sqrt(n)
    comparisons = _comparisons(pairs, differences, errors, n - 1, p, adjusted)
    return [
        replace(c, wins=int((d > 0).sum()), ties=int((d == 0).sum()), losses=int((d < 0).sum()))
        for c, d in zip(comparisons, paired, strict=True)
    ]


def compare_correlations_of(
    subsets: Sequence[tuple[npt.ArrayLike, npt.NDArray[Any] | Sequence[npt.ArrayLike]]],
    method: Method,
    *,
    baseline: int | None = None,
    seed: int = _SEED,
) -> list[Comparison]:
    """Compare the models' correlations with gold scores, averaged over the subsets of a task.

    Args:
        subsets: ``(gold, scores)`` of each subset: ``(n,)`` gold scores and ``(N, n)`` scores of
            each model. The subsets are fixed and independent, and may differ in size.
        method: The coefficient.
        baseline: Compare all other models with this one; by default every pair is compared.
        seed: Seed of the normal draws for the adjusted p-values.

    Returns:
        The comparisons, as `compare_means_of` gives them, without wins, ties and losses.

    Raises:
        UndefinedMetricError: There is no subset, there are fewer than 2 models, or a correlation
            is undefined; the message gives the indices of subset and model.
        ValueError: The numbers of models differ, or ``method`` or ``baseline`` is not as
            described.
    """
    tables = [(gold, list(scores)) for gold, scores in subsets]
    counts = {len(scores) for _, scores in tables}
    if len(counts) > 1:
        raise ValueError(f"the subsets have scores of {sorted(counts)} models: give all of each")
    if not counts or min(counts) < 2:
        raise UndefinedMetricError("comparing correlations needs a subset and 2 models, at least")
    pairs = _Pairs.of(counts.pop(), baseline)
    of_subsets = [_influences(i, *table, method) for i, table in enumerate(tables)]
    correlations = np.mean([r for r, _ in of_subsets], axis=0)
    influences = np.concatenate([u for _, u in of_subsets], axis=1) / len(tables)
    freedom = influences.shape[1] - len(tables)

    differences = _without_rounding(correlations[pairs.first] - correlations[pairs.second])
    # One pair at a time: on a large test set all pairs' differences would not fit into memory.
    errors = np.array(
        [np.linalg.norm(influences[i] - influences[j]) for i, j in zip(*pairs, strict=True)]
    )
    p = 2 * stats.t.sf(_ratio(np.abs(differences), errors), freedom)
    if method == "pearson" and len(tables) == 1:
        p = _williams_p(*tables[0], correlations, pairs, otherwise=p)
    p = np.maximum(p, np.finfo(np.float64).tiny)

    order = _canonical_order(influences)
    draws = _normal_draws(influences[order] @ influences[order].T, seed)
    _, adjusted = _max_t(-special.ndtri(p / 2), errors, pairs, order, draws)
    # Holm's is never the smaller, but for the number of draws.
    adjusted = np.maximum(np.minimum(adjusted, holm(p)), p)
    return _comparisons(pairs, differences, errors, freedom, p, adjusted)


def letters(
    scores: Sequence[float],
    names: Sequence[str],
    comparisons: Sequence[Comparison],
    *,
    level: float = 0.05,
) -> list[str]:
    """Compact letter display: models that share a letter do not differ significantly.

    Insert and absorb (Piepho, Journal of Computational and Graphical Statistics 2004): all models
    begin in one group; each significant difference splits the groups that hold both models, and
    groups within others are absorbed. What remains are all the largest groups without a
    significant difference, in whatever order the differences are taken. Letters are given by the
    groups' members from the highest score down, of equal scores by name.

    Args:
        scores: ``(N,)`` scores of the models.
        names: ``(N,)`` their names, all different.
        comparisons: Those of every pair.
        level: Differences count as significant up to this ``p_adjusted``.

    Returns:
        ``(N,)`` letters of each model: ``a`` is shared with the best, and ``a'`` follows ``z``.

    Raises:
        ValueError: A pair is missing, or two names are the same.
    """
    compared = {frozenset((c.first, c.second)): c.p_adjusted for c in comparisons}
    missing = [
        pair for pair in combinations(range(len(scores)), 2) if frozenset(pair) not in compared
    ]
    if missing:
        raise ValueError(f"letters need every pair compared; models {missing[0]} are not")
    if len(set(names)) < len(names) or len(names) != len(scores):
        raise ValueError("letters need one name a model, all different")
    groups = {frozenset(range(len(scores)))}
    for pair, p in compared.items():
        if p <= level:
            split = {group - {model} for group in groups if pair <= group for model in pair}
            groups = {group for group in groups if not pair <= group} | split
            groups = {group for group in groups if not any(group < other for other in groups)}
    ranked = sorted(range(len(scores)), key=lambda model: (-scores[model], names[model]))
    place = {model: i for i, model in enumerate(ranked)}
    by_place = sorted(groups, key=lambda group: sorted(place[model] for model in group))
    return [
        "".join(_letter(i) for i, group in enumerate(by_place) if model in group)
        for model in range(len(scores))
    ]


def _letter(i: int) -> str:
    return ascii_lowercase[i % 26] + "'" * (i // 26)


class _Pairs(NamedTuple):
    """Indices of the compared models, one pair after another."""

    first: _Int
    second: _Int

    @classmethod
    def of(cls, n_models: int, baseline: int | None) -> _Pairs:
        if baseline is None:
            return cls(*np.triu_indices(n_models, k=1))
        if not 0 <= baseline < n_models:
            raise ValueError(f"baseline must be an index below {n_models}, not {baseline}")
        others = np.delete(np.arange(n_models), baseline)
        return cls(others, np.full_like(others, baseline))


def _influences(
    subset: int, gold: npt.ArrayLike, scores: Sequence[npt.ArrayLike], method: Method
) -> tuple[_Float, _Float]:
    """The models' correlations, and the influences of all pairs on each of them.

    The influences are scaled so that the squared standard error of the difference of two models
    is the sum of the squared differences of theirs.
    """
    correlations, influences = [], []
    for model, of_model in enumerate(scores):
        try:
            r, moved = PairedSample.of(of_model, gold, method).correlation_and_influences()
        except UndefinedMetricError as error:
            raise UndefinedMetricError(
                f"subset {subset}, model {model}: {error} (x: the model's scores, y: gold)"
            ) from error
        correlations.append(r)
        influences.append(moved / math.sqrt(moved.size * (moved.size - 1)))
    return np.array(correlations), np.array(influences)


def _williams_p(
    gold: npt.ArrayLike,
    scores: Sequence[npt.ArrayLike],
    correlations: _Float,
    pairs: _Pairs,
    *,
    otherwise: _Float,
) -> _Float:
    """Williams' p-values, and others where his test is undefined."""
    p = otherwise.copy()
    for k, (i, j) in enumerate(zip(*pairs, strict=True)):
        between = pearson(scores[i], scores[j])
        with suppress(UndefinedMetricError):
            p[k] = williams_test(correlations[i], correlations[j], between, np.size(gold)).p_value
    return p


def _canonical_order(rows: _Float) -> _Int:
    """An order of the models that depends neither on theirs nor on that of the observations."""
    return np.lexsort(np.sort(rows, axis=1).T)


def _signed_sums(values: _Float, seed: int) -> Iterator[_Float]:
    """Yield ``(b, N)`` sums of each model's values, all under the same random signs.

    If there are few signs they are all used but for the first, under which the values stay.
    """
    n_models, n = values.shape
    width = max(n, n_models**2)
    if 2**n <= _DRAWS:
        for numbers in np.array_split(np.arange(1, 2**n), 1 + (width << n) // _BLOCK):
            yield (1.0 - 2.0 * (numbers[:, np.newaxis] >> np.arange(n) & 1)) @ values.T
        return
    random = np.random.default_rng(seed)
    for size in _block_sizes(width):
        words = random.integers(2**64, size=(size, -(-n // 64)), dtype=np.uint64)
        bits = np.unpackbits(words.view(np.uint8), axis=1)
        yield (1.0 - 2.0 * bits[:, :n]) @ values.T


def _normal_draws(covariance: _Float, seed: int) -> Iterator[_Float]:
    """Yield ``(b, N)`` normal draws of the models' errors."""
    roots, vectors = np.linalg.eigh(covariance)
    factor = vectors * np.sqrt(np.maximum(roots, 0.0))
    random = np.random.default_rng(seed)
    for size in _block_sizes(roots.size**2):
        yield random.standard_normal((size, roots.size)) @ factor.T


def _block_sizes(width: int) -> Iterator[int]:
    """Yield numbers of draws that add up to all, each of a bounded size in numbers."""
    height = max(1, _BLOCK // width)
    for start in range(0, _DRAWS, height):
        yield min(height, _DRAWS - start)


def _max_t(
    statistics: _Float, scales: _Float, pairs: _Pairs, order: _Int, draws: Iterable[_Float]
) -> tuple[_Float, _Float]:
    """The pairs' own p-values and the step-down max-T ones, by draws under the null hypothesis.

    Args:
        statistics: ``(P,)`` absolute test statistics.
        scales: ``(P,)`` by which the pairs' drawn differences are divided; 0 where they are 0.
        pairs: The compared models.
        order: ``(N,)`` the model in each column of the draws.
        draws: Blocks of ``(b, N)``. The data as they are count as one more, so that no p is 0.
    """
    column = np.argsort(order)
    descending = np.argsort(-statistics, kind="stable")
    bounds = statistics - _TIED
    own, largest, total = np.ones(statistics.size), np.ones(statistics.size), 1
    for block in draws:
        drawn = block[:, column[pairs.first]] - block[:, column[pairs.second]]
        drawn = _ratio(np.abs(drawn), scales)
        own += (drawn >= bounds).sum(axis=0)
        running = np.maximum.accumulate(drawn[:, descending[::-1]], axis=1)[:, ::-1]
        largest += (running >= bounds[descending]).sum(axis=0)
        total += len(block)
    adjusted = np.empty_like(largest)
    adjusted[descending] = np.maximum.accumulate(largest) / total
    return own / total, adjusted


def _comparisons(
    pairs: _Pairs, differences: _Float, errors: _Float, freedom: int, p: _Float, adjusted: _Float
) -> list[Comparison]:
    """The comparisons, with Student's intervals of the differences."""
    margins = stats.t.ppf(0.975, freedom) * errors
    resolvable = margins + stats.t.ppf(0.8, freedom) * errors
    ends = differences - margins, differences + margins
    columns = (*pairs, differences, *ends, p, adjusted, resolvable)
    return [Comparison(*row) for row in zip(*(c.tolist() for c in columns), strict=True)]


def _without_rounding(differences: _Float) -> _Float:
    return np.where(np.abs(differences) < _ROUNDING, 0.0, differences)


def _ratio(numerator: _Float, denominator: _Float) -> _Float:
    """Quotient that is 0 where the numerator is, and infinite where only the denominator is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        result: _Float = np.where(numerator == 0, 0.0, numerator / denominator)
    return result
