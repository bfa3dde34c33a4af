"""Many models on one test set: how far they differ, how sure that is, and which belong together.

A mean over queries and a correlation are treated alike. Both are, up to terms of order 1/n, means
of what each observation contributes: its value, or its influence on the correlation. The
difference of two models is then a mean of paired differences.

The tests. Means over queries: the paired randomisation test (Fisher; Smucker, Allan and
Carterette, CIKM 2007), exact where all signs are enumerated. Correlations, and means of them over
subsets: the bootstrap-t (Efron and Tibshirani, "An Introduction to the Bootstrap", 1993, section
12.5). The difference over its standard error is compared with what resampled influences give. For
Pearson's coefficient these are the jackknife's, which see how far an outlier moves the coefficient.
No distribution of the scores is assumed. Williams' test, a convention of the WMT metrics task,
assumes normal ones and alarms up to twice as often as it says on real systems: its p-value is
given beside, and decides nothing.

Families. The p-values of a test set are corrected together by step-down resampling (Westfall and
Young, "Resampling-Based Multiple Testing", 1993), from the same draws as the p-values themselves:
see :mod:`mteb_ext.metrics.step_down`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import combinations
from string import ascii_lowercase
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import stats

from mteb_ext.errors import UndefinedMetricError
from mteb_ext.metrics.arrays import finite_numbers
from mteb_ext.metrics.correlation import pearson, pearson_of_rows
from mteb_ext.metrics.significance import Method, PairedSample, williams_test
from mteb_ext.metrics.step_down import step_down_max, step_down_min_p

__all__ = [
    "LEVEL",
    "Comparison",
    "compare_correlations_of",
    "compare_means_of",
    "equivalence_p",
    "influences_of",
    "letters",
]

_Float: TypeAlias = npt.NDArray[np.float64]
_Int: TypeAlias = npt.NDArray[np.int64]

LEVEL = 0.05
"""The level of significance where no other is asked for."""

SPARSE = 10
"""Two models that differ on fewer observations have an interval that is too narrow."""

_SEED = 0
_DRAWS = 1 << 16  # of random signs
_RESAMPLES, _FEWEST = 9999, 1999  # of influences
_CELLS = 1 << 23  # resampled statistics held at a time
_BLOCK = 1 << 20  # numbers drawn at a time: bounds the memory
_ROUNDING = 1e-12  # differences of scores from 0 to 1 below it are none
_POWER = 0.8


@dataclass(frozen=True)
class Comparison:
    """The difference of two models on a test set.

    Attributes:
        first: Index of the first model.
        second: Index of the second model.
        difference: The first model's score minus the second's.
        low: Lower end of the interval of the difference, of 95% at the level of 5%.
        high: Its upper end.
        p: Two-sided p-value, above 0.
        p_adjusted: The same, corrected for all comparisons of the family; not below ``p``.
        resolvable: The smallest true difference that ``p`` would find with a chance of 80%, given
            the observed paired spread.
        resolvable_adjusted: The same for the corrected p-value, at its first and hardest step.
        error: Standard error of the difference.
        freedom: Its degrees of freedom.
        differing: Observations on which the models differ; where they are fewer than `SPARSE`, the
            interval is too narrow, and ``p`` exact.
        p_williams: For Pearson's correlation on one subset the p-value of Williams' test, a
            convention of the WMT metrics task; None elsewhere, and where it is undefined.
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
    resolvable_adjusted: float
    error: float
    freedom: int
    differing: int
    p_williams: float | None = None
    wins: int | None = None
    ties: int | None = None
    losses: int | None = None

    @property
    def sparse(self) -> bool:
        """Whether so few observations differ that the interval is not to be trusted."""
        return self.differing < SPARSE


def compare_means_of(
    values: npt.ArrayLike,
    *,
    baseline: int | None = None,
    level: float = LEVEL,
    seed: int = _SEED,
) -> list[Comparison]:
    """Compare the means of models over the same queries, for example MAP.

    Args:
        values: ``(N, n)`` each model's value for each query, for example average precisions.
        baseline: Compare all other models with this one; by default every pair is compared.
        level: The level of significance, which intervals and resolvable differences are for.
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
    column = np.argsort(order)

    def drawn(k: int) -> _Float:
        sums = signed[column[pairs.first[k]]] - signed[column[pairs.second[k]]]
        return _ratio(np.abs(sums), roots[k])

    observed = _ratio(np.abs(paired.sum(axis=1)), roots)
    p, adjusted, hardest = step_down_min_p(observed, drawn, level)
    errors = paired.std(axis=1, ddof=1) / math.sqrt(n)
    quantile, power = stats.t.ppf(1 - level / 2, n - 1), stats.t.ppf(_POWER, n - 1)
    found = _Found(
        differences=_without_rounding(paired.mean(axis=1)),
        errors=errors,
        margins=quantile * errors,
        p=p,
        adjusted=adjusted,
        resolvable=(quantile + power) * errors,
        resolvable_adjusted=(stats.t.ppf(1 - hardest / 2, n - 1) + power) * errors,
        differing=(paired != 0).sum(axis=1),
    )
    return [
        replace(c, wins=int((d > 0).sum()), ties=int((d == 0).sum()), losses=int((d < 0).sum()))
        for c, d in zip(found.comparisons(pairs, n - 1), paired, strict=True)
    ]


def compare_correlations_of(
    subsets: Sequence[tuple[npt.ArrayLike, npt.NDArray[Any] | Sequence[npt.ArrayLike]]],
    method: Method,
    *,
    baseline: int | None = None,
    level: float = LEVEL,
    seed: int = _SEED,
) -> list[Comparison]:
    """Compare the models' correlations with gold scores, averaged over the subsets of a task.

    Args:
        subsets: ``(gold, scores)`` of each subset: ``(n,)`` gold scores and ``(N, n)`` scores of
            each model. The subsets are fixed and independent, and may differ in size.
        method: The coefficient.
        baseline: Compare all other models with this one; by default every pair is compared.
        level: The level of significance, which intervals and resolvable differences are for.
        seed: Seed of the resampling.

    Returns:
        The comparisons, as `compare_means_of` gives them, without wins, ties and losses. An
        interval excludes 0 exactly where ``p`` is not above ``level``, but for sparse pairs,
        whose p-value is exact.

    Raises:
        UndefinedMetricError: There is no subset, there are fewer than 2 models, or a correlation
            is undefined; the message gives the indices of subset and model.
        ValueError: The numbers of models differ, or ``method`` or ``baseline`` is not as
            described.
    """
    tables = [(np.asarray(gold), list(scores)) for gold, scores in subsets]
    correlations, influences = influences_of(tables, method)
    pairs = _Pairs.of(len(correlations), baseline)
    differences = _without_rounding(correlations[pairs.first] - correlations[pairs.second])
    # One pair at a time: on a large test set all pairs' differences would not fit into memory.
    errors = np.array(
        [
            math.sqrt(sum(float(((u[i] - u[j]) ** 2).sum()) for u in influences))
            for i, j in zip(*pairs, strict=True)
        ]
    )
    errors[errors < _ROUNDING] = 0.0
    order = _canonical_order(np.concatenate(influences, axis=1))
    sorted_rows = [
        u[:, _row_order(table, order)] for u, table in zip(influences, tables, strict=True)
    ]
    resampled = _resampled(sorted_rows, pairs, order, seed)
    kept = max(1, math.floor(level * (len(resampled) + 1)))
    quantiles = -np.partition(-resampled, kept - 1, axis=0)[kept - 1]
    # Divided by its own quantile, each pair's statistic has the same share above 1: the family's
    # maximum then treats pairs alike, however long their tails are.
    p, adjusted, hardest = step_down_max(
        _ratio(_ratio(np.abs(differences), errors), quantiles), _ratio(resampled, quantiles), level
    )
    differing = np.array(
        [
            sum(int((np.asarray(s[i]) != np.asarray(s[j])).sum()) for _, s in tables)
            for i, j in zip(*pairs, strict=True)
        ]
    )
    for k in np.flatnonzero(differing < SPARSE):
        p[k] = _swap_p(tables, int(pairs.first[k]), int(pairs.second[k]), method)
    freedom = sum(u.shape[1] for u in influences) - len(tables)
    power = stats.t.ppf(_POWER, freedom)
    found = _Found(
        differences=differences,
        errors=errors,
        margins=quantiles * errors,
        p=p,
        adjusted=np.maximum(p, adjusted),
        resolvable=(quantiles + power) * errors,
        resolvable_adjusted=(hardest * quantiles + power) * errors,
        differing=differing,
    )
    comparisons = found.comparisons(pairs, freedom)
    if method == "pearson" and len(tables) == 1:
        williams = _williams_p(*tables[0], correlations, pairs)
        comparisons = [replace(c, p_williams=w) for c, w in zip(comparisons, williams, strict=True)]
    return comparisons


def influences_of(
    subsets: Sequence[tuple[npt.ArrayLike, Sequence[npt.ArrayLike]]], method: Method
) -> tuple[_Float, list[_Float]]:
    """The models' correlations, averaged over subsets, and what each pair contributes to them.

    Args:
        subsets: As for `compare_correlations_of`.
        method: The coefficient.

    Returns:
        ``(N,)`` correlations and, for each subset, ``(N, n)`` influences. They add up to 0, and are
        scaled so that the squared standard error of the difference of two models is the sum of
        the squared differences of theirs.

    Raises:
        UndefinedMetricError: As for `compare_correlations_of`.
        ValueError: As for `compare_correlations_of`.
    """
    counts = {len(scores) for _, scores in subsets}
    if len(counts) > 1:
        raise ValueError(f"the subsets have scores of {sorted(counts)} models: give all of each")
    if not counts or min(counts) < 2:
        raise UndefinedMetricError("comparing correlations needs a subset and 2 models, at least")
    of_subsets = [_influences(i, *table, method) for i, table in enumerate(subsets)]
    correlations = np.mean([r for r, _ in of_subsets], axis=0)
    return correlations, [u / len(subsets) for _, u in of_subsets]


def equivalence_p(comparison: Comparison, margin: float) -> float:
    """P-value of equivalence: that two models differ by less than a margin.

    Two one-sided tests (Schuirmann, Journal of Pharmacokinetics and Biopharmaceutics 1987). It is
    also the p-value of non-inferiority: that the worse of the two is no worse than the better one
    by the margin or more.

    Args:
        comparison: The comparison.
        margin: The difference from which on it would matter, above 0.
    """
    if comparison.error == 0:
        return 0.0 if abs(comparison.difference) < margin else 1.0
    t = (margin - abs(comparison.difference)) / comparison.error
    return float(stats.t.sf(t, comparison.freedom))


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


@dataclass(frozen=True)
class _Found:
    """``(P,)`` columns of the comparisons."""

    differences: _Float
    errors: _Float
    margins: _Float
    p: _Float
    adjusted: _Float
    resolvable: _Float
    resolvable_adjusted: _Float
    differing: _Int

    def comparisons(self, pairs: _Pairs, freedom: int) -> list[Comparison]:
        return [
            Comparison(
                first=int(pairs.first[k]),
                second=int(pairs.second[k]),
                difference=float(self.differences[k]),
                low=float(self.differences[k] - self.margins[k]),
                high=float(self.differences[k] + self.margins[k]),
                p=float(self.p[k]),
                p_adjusted=float(self.adjusted[k]),
                resolvable=float(self.resolvable[k]),
                resolvable_adjusted=float(self.resolvable_adjusted[k]),
                error=float(self.errors[k]),
                freedom=freedom,
                differing=int(self.differing[k]),
            )
            for k in range(pairs.first.size)
        ]


def _influences(
    subset: int, gold: npt.ArrayLike, scores: Sequence[npt.ArrayLike], method: Method
) -> tuple[_Float, _Float]:
    """One subset's correlations and influences, as `influences_of` gives them."""
    correlations, influences = [], []
    for model, of_model in enumerate(scores):
        try:
            r, moved = PairedSample.of(of_model, gold, method).correlation_and_jackknife()
        except UndefinedMetricError as error:
            raise UndefinedMetricError(
                f"subset {subset}, model {model}: {error} (x: the model's scores, y: gold)"
            ) from error
        correlations.append(r)
        influences.append(moved / math.sqrt(moved.size * (moved.size - 1)))
    return np.array(correlations), np.array(influences)


def _resampled(influences: Sequence[_Float], pairs: _Pairs, order: _Int, seed: int) -> _Float:
    """``(B, P)`` absolute differences over their standard errors, of resamples of each subset.

    A resample's difference is measured from the observed one, so that it follows the null
    hypothesis; its standard error is its own.
    """
    n_pairs = pairs.first.size
    draws = int(np.clip(_CELLS // n_pairs, _FEWEST, _RESAMPLES))
    random = np.random.default_rng(seed)
    resampled = np.empty((draws, n_pairs))
    widest = max(u.shape[1] for u in influences)
    height = max(1, _BLOCK // widest)
    for start in range(0, draws, height):
        size = min(height, draws - start)
        weights = [_counts(random, size, u.shape[1]) for u in influences]
        for some in np.array_split(np.arange(n_pairs), 1 + n_pairs * widest // _BLOCK):
            sums, squares = np.zeros((2, size, some.size))
            for u, drawn in zip(influences, weights, strict=True):
                n = u.shape[1]
                paired = _without_rounding(u[pairs.first[some]] - u[pairs.second[some]])
                moved = drawn @ paired.T
                sums += math.sqrt((n - 1) / n) * moved
                squares += drawn @ (paired**2).T - moved**2 / n
            errors = np.sqrt(np.maximum(squares, 0.0))
            resampled[start : start + size, some] = _ratio(np.abs(sums), errors)
    return resampled


def _counts(random: np.random.Generator, size: int, n: int) -> _Float:
    """``(size, n)`` how often each observation is in each resample."""
    drawn = random.integers(n, size=(size, n)) + n * np.arange(size)[:, np.newaxis]
    return np.bincount(drawn.ravel(), minlength=size * n).reshape(size, n).astype(np.float64)


def _swap_p(
    tables: Sequence[tuple[npt.NDArray[Any], Sequence[npt.ArrayLike]]],
    first: int,
    second: int,
    method: Method,
) -> float:
    """Exact p of two models that differ on a few pairs: their standardised scores change places.

    The scores are standardised because a correlation knows no scale; for Spearman they are ranks.
    """
    subsets, n_differing = [], 0
    for gold, scores in tables:
        x, y = (np.asarray(scores[model]) for model in (first, second))
        differing = np.flatnonzero(x != y)
        bits = n_differing + np.arange(differing.size)
        n_differing += differing.size
        if method == "spearman":
            x, y = stats.rankdata(x), stats.rankdata(y)
        levels = stats.rankdata(gold) if method == "spearman" else gold
        subsets.append((levels, stats.zscore(x), stats.zscore(y), differing, bits))
    numbers = np.arange(2**n_differing)[:, np.newaxis]
    differences = np.zeros(numbers.size)
    for gold, x, y, differing, bits in subsets:
        swapped = np.zeros((numbers.size, x.size), dtype=bool)
        swapped[:, differing] = numbers >> bits & 1
        for sign, (a, b) in ((1, (x, y)), (-1, (y, x))):
            rows = np.where(swapped, b, a)
            rows = stats.rankdata(rows, axis=1) if method == "spearman" else rows
            differences += sign * np.nan_to_num(pearson_of_rows(rows, gold[np.newaxis]))
    return float(np.mean(np.abs(differences) >= abs(differences[0]) - _ROUNDING))


def _williams_p(
    gold: npt.ArrayLike, scores: Sequence[npt.ArrayLike], correlations: _Float, pairs: _Pairs
) -> list[float | None]:
    """Williams' p-values; None where his test is undefined."""
    found: list[float | None] = []
    for i, j in zip(*pairs, strict=True):
        between = pearson(scores[i], scores[j])
        p = None
        with suppress(UndefinedMetricError):
            p = williams_test(correlations[i], correlations[j], between, np.size(gold)).p_value
        found.append(p)
    return found


def _canonical_order(rows: _Float) -> _Int:
    """An order of the models that depends neither on theirs nor on that of the observations."""
    return np.lexsort(np.sort(rows, axis=1).T)


def _row_order(table: tuple[npt.NDArray[Any], Sequence[npt.ArrayLike]], order: _Int) -> _Int:
    """An order of the pairs that does not depend on the one in which they came."""
    gold, scores = table
    return np.lexsort((*(np.asarray(scores[model]) for model in order), gold))


def _signed_sums(values: _Float, seed: int) -> _Float:
    """``(N, B)`` sums of each model's values, all under the same random signs.

    If there are few signs they are all used but for the first, under which the values stay.
    """
    n_models, n = values.shape
    if 2**n <= _DRAWS:
        sums = np.empty((n_models, 2**n - 1))
        for numbers in np.array_split(np.arange(1, 2**n), 1 + (n << n) // _BLOCK):
            signs = 1.0 - 2.0 * (numbers[:, np.newaxis] >> np.arange(n) & 1)
            sums[:, numbers - 1] = values @ signs.T
        return sums
    random = np.random.default_rng(seed)
    sums = np.empty((n_models, _DRAWS))
    for start, size in _block_sizes(n):
        words = random.integers(2**64, size=(size, -(-n // 64)), dtype=np.uint64)
        bits = np.unpackbits(words.view(np.uint8), axis=1)
        sums[:, start : start + size] = values @ (1.0 - 2.0 * bits[:, :n]).T
    return sums


def _block_sizes(width: int) -> Iterator[tuple[int, int]]:
    """Yield where blocks of draws begin and how many draws they have, bounded in numbers."""
    height = max(1, _BLOCK // width)
    for start in range(0, _DRAWS, height):
        yield start, min(height, _DRAWS - start)


def _without_rounding(differences: _Float) -> _Float:
    return np.where(np.abs(differences) < _ROUNDING, 0.0, differences)


def _ratio(numerator: _Float, denominator: _Float | float) -> _Float:
    """Quotient that is 0 where the numerator is, and infinite where only the denominator is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        result: _Float = np.where(numerator == 0, 0.0, numerator / denominator)
    return result
