"""Ranking metrics of many queries at once, exact when scores tie.

A model that scores two candidates alike has not said which of them comes first. Sorting them
anyway lets the file order, or the name of a document, decide part of the result. By default each
metric is therefore its expected value when every group of tied candidates is shuffled, in closed
form (McSherry and Najork, "Computing Information Retrieval Performance Measures Efficiently in
the Presence of Tied Scores", ECIR 2008).

Everything is computed from slots. A slot is a rank that may hold a relevant candidate, with the
chance that it does. Without ties a slot is a relevant candidate and its chance is 1; a tie group
of ``size`` candidates with ``relevant`` relevant ones has ``size`` slots, each with the chance
``relevant / size``. A metric is a weighted sum over the slots of each query.

The definitions are those of trec_eval. ``Q`` is the number of queries, ``N`` that of candidates.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from mteb_ext.metrics.arrays import Numbers, finite_numbers

__all__ = ["ListOrder", "Ranking", "average_precision"]

ListOrder = Literal["expected", "later_first", "best", "worst"]

_Bool: TypeAlias = npt.NDArray[np.bool_]
_Int: TypeAlias = npt.NDArray[np.int64]
_Float: TypeAlias = npt.NDArray[np.float64]

_PART = 1 << 20  # candidates of which one metric is computed at a time: bounds the memory
_BLOCK = 1 << 16  # candidates sorted at a time: bounds the memory, and fits a CPU cache


class _Groups(NamedTuple):
    """Tie groups that hold a relevant candidate: one query after another, each by rank."""

    query: _Int
    start: _Int  # candidates ranked above the group
    size: _Int
    relevant: _Int


class Ranking:
    """The candidates of all queries, sorted once; each metric is then a cheap weighted sum.

    A metric returns a ``(Q,)`` float64 array of values from 0 to 1, in query order. A query
    without candidates, or without a relevant one, scores 0: the protocol says which questions
    count. A cut-off ``k`` below 1 raises ValueError.

    Args:
        scores: ``(N,)`` real numbers, higher is better. Ties are judged on the values as given,
            whatever their type; 0.0 and -0.0 tie.
        labels: ``(N,)`` 1 for a relevant candidate, 0 for another.
        offsets: ``(Q + 1,)`` integers; the candidates of query ``i`` are
            ``scores[offsets[i]:offsets[i + 1]]``.
        ties: How candidates with equal scores are ordered. ``"expected"`` averages over all
            their orders. ``"later_first"`` compares the scores as float32, which is how trec_eval
            stores them, and puts the later candidate first: trec_eval's order of candidates that
            are sorted by document name. ``"best"`` and ``"worst"`` put the
            relevant candidates first and last.

    Attributes:
        n_relevant: ``(Q,)`` number of relevant candidates of each query.
        tied_across_labels: ``(Q,)`` whether a relevant candidate of the query ties with one that
            is not, so that the order of ties matters to the metrics.

    Raises:
        UndefinedMetricError: A score is masked or not a finite real number.
        ValueError: Any argument is not as described.

    Example:
        >>> ranking = Ranking([0.9, 0.5, 0.5, 0.1], [0, 1, 0, 1], [0, 4])
        >>> ranking.reciprocal_rank()  # rank 2 or 3, as likely either way: (1/2 + 1/3) / 2
        array([0.41666667])
        >>> ranking.tied_across_labels
        array([ True])
    """

    n_relevant: _Int
    tied_across_labels: _Bool

    def __init__(
        self,
        scores: npt.ArrayLike,
        labels: npt.ArrayLike,
        offsets: npt.ArrayLike,
        *,
        ties: ListOrder = "expected",
    ) -> None:
        if ties not in get_args(ListOrder):
            raise ValueError(f"ties must be one of {', '.join(get_args(ListOrder))}, not {ties!r}")
        bounds = _checked_offsets(offsets)
        values = _checked_scores(scores, bounds)
        relevant = _checked_labels(labels, bounds)
        if ties == "later_first":
            with np.errstate(over="ignore"):  # a score beyond float32 is infinite in C as well
                values = values.astype(np.float64).astype(np.float32)
        groups, tied = _tie_groups(values, relevant, bounds, ties)
        n_queries = bounds.size - 1
        self.n_relevant = np.zeros(n_queries, dtype=np.int64)
        np.add.at(self.n_relevant, groups.query, groups.relevant)
        self.tied_across_labels = np.zeros(n_queries, dtype=np.bool_)
        self.tied_across_labels[tied] = True

        self._groups = groups
        self._above = _relevant_above(groups)
        self._first_slot = np.cumsum(groups.size) - groups.size
        # From here on, one element for each slot.
        self._group = np.repeat(np.arange(groups.size.size), groups.size)
        self._query = groups.query[self._group]
        self._rank = (groups.start - self._first_slot)[self._group]
        self._rank += np.arange(1, self._rank.size + 1)
        self._chance = (groups.relevant / groups.size)[self._group]

    def average_precision(self, k: int | None = None) -> _Float:
        """Sum of the precisions at the ranks of the relevant candidates, over their number.

        Args:
            k: Count only the ranks up to ``k``; the divisor stays the number of relevant
                candidates in the whole list, as in trec_eval's ``map_cut``.

        Returns:
            ``(Q,)`` values from 0 to 1; their mean is MAP.
        """
        return _ratio(self._sum(self._chance * self._precision_if_relevant, k), self.n_relevant)

    def reciprocal_rank(self, k: int | None = None) -> _Float:
        """One over the rank of the first relevant candidate, 0 if that rank is beyond ``k``.

        Args:
            k: The deepest rank that counts; every rank does by default.

        Returns:
            ``(Q,)`` values from 0 to 1; their mean is MRR.
        """
        return self._sum(self._chance_first / self._rank, k)

    def precision(self, k: int) -> _Float:
        """Share of relevant candidates among the first ``k``.

        Args:
            k: The cut-off, and the divisor even when the list is shorter, as in trec_eval's ``P``.

        Returns:
            ``(Q,)`` values from 0 to 1.
        """
        return self._sum(self._chance, k) / k

    def recall(self, k: int) -> _Float:
        """Share of the relevant candidates that are among the first ``k``.

        Args:
            k: The cut-off.

        Returns:
            ``(Q,)`` values from 0 to 1.
        """
        return np.minimum(_ratio(self._sum(self._chance, k), self.n_relevant), 1.0)

    def ndcg(self, k: int | None = None) -> _Float:
        """Discounted cumulative gain over that of the best order of the same candidates.

        The gain of a relevant candidate is 1 and its discount ``log2(1 + rank)``, as in
        trec_eval's ``ndcg`` and ``ndcg_cut`` (Järvelin and Kekäläinen, TOIS 2002).

        Args:
            k: The cut-off of both sums; the whole list by default.

        Returns:
            ``(Q,)`` values from 0 to 1.
        """
        found = self._sum(self._chance / np.log2(1 + self._rank), k)
        deepest = self.n_relevant if k is None else np.minimum(self.n_relevant, k)
        ranks = np.arange(1, deepest.max(initial=0) + 1)
        ideal = np.concatenate([[0.0], np.cumsum(1 / np.log2(1 + ranks))])
        return _ratio(found, ideal[deepest])

    def hit_rate(self, k: int) -> _Float:
        """Whether a relevant candidate is among the first ``k``; with ties, the chance that one is.

        Args:
            k: The cut-off.

        Returns:
            ``(Q,)`` values from 0 to 1.
        """
        return np.minimum(self._sum(self._chance_first, k), 1.0)

    @cached_property
    def _precision_if_relevant(self) -> _Float:
        """Expected precision at each slot's rank, given that the slot is relevant.

        Each earlier slot of the group is then relevant with chance (relevant - 1) / (size - 1).
        """
        groups, group = self._groups, self._group
        others = (groups.relevant - 1) / np.maximum(groups.size - 1, 1)
        earlier = self._rank - 1 - groups.start[group]
        expected: _Float = self._above[group] + 1 + earlier * others[group]
        return expected / self._rank

    @cached_property
    def _chance_first(self) -> _Float:
        """Chance that each slot holds its query's first relevant candidate.

        Only a query's first group can. Drawing its candidates one by one, ``size - j`` are left
        before draw ``j``; the products of the chances of a miss are exact to rounding, where a
        difference of log-gammas is not.
        """
        chance = np.zeros(self._rank.size)
        leading = np.flatnonzero(self._above == 0)
        for size, chosen in _by_value(self._groups.size[leading]):
            groups = leading[chosen]
            relevant = self._groups.relevant[groups, np.newaxis]
            left = size - np.arange(size)
            missed = np.cumprod((left - relevant) / left, axis=1)  # stays 0 from its first 0 on
            missed_before = np.hstack([np.ones_like(missed[:, :1]), missed[:, :-1]])
            slots = self._first_slot[groups, np.newaxis] + np.arange(size)
            chance[slots] = missed_before * relevant / left
        return chance

    def _sum(self, weights: _Float, k: int | None) -> _Float:
        """Per query, the sum of the weights of the slots at ranks up to ``k``."""
        if k is not None:
            if k < 1:
                raise ValueError(f"k must be at least 1, not {k}")
            weights = np.where(self._rank <= k, weights, 0.0)
        total: _Float = np.zeros(self.n_relevant.size)
        np.add.at(total, self._query, weights)
        return total


def average_precision(
    scores: npt.ArrayLike, labels: npt.ArrayLike, offsets: npt.ArrayLike
) -> _Float:
    """Average precision of each query; see `Ranking` and `Ranking.average_precision`.

    Of some queries at a time: one metric alone needs no more memory, and is faster.
    """
    bounds = _checked_offsets(offsets)
    values, relevant = _checked_scores(scores, bounds), _checked_labels(labels, bounds)
    firsts = np.unique(np.searchsorted(bounds[:-1], np.arange(0, values.size + 1, _PART)))
    parts = []
    for first, end in pairwise([*firsts, bounds.size - 1]):
        here = slice(bounds[first], bounds[end])
        part = Ranking(values[here], relevant[here], bounds[first : end + 1] - bounds[first])
        parts.append(part.average_precision())
    return np.concatenate(parts)


def _tie_groups(
    scores: Numbers, relevant: _Bool, offsets: _Int, ties: ListOrder
) -> tuple[_Groups, _Int]:
    """Sort every query; returns the groups to score, and the queries of groups of both labels."""
    none = np.empty(0, dtype=np.int64)
    parts, tied = [_Groups(none, none, none, none)], [none]
    for queries, candidates in _blocks(offsets):
        groups, queries_tied = _block_groups(scores, relevant, queries, candidates, ties)
        parts.append(groups)
        tied.append(queries_tied)
    return _Groups(*map(np.concatenate, zip(*parts, strict=True))), np.concatenate(tied)


def _blocks(offsets: _Int) -> Iterator[tuple[_Int, _Int]]:
    """Yield ``(B,)`` queries with lists of one length, and their ``(B, length)`` candidates."""
    for length, queries in _by_value(np.diff(offsets)):
        rows = max(1, _BLOCK // max(1, length))
        for begin in range(0, queries.size if length else 0, rows):
            block = queries[begin : begin + rows]
            yield block, offsets[block, np.newaxis] + np.arange(length)


def _block_groups(
    scores: Numbers,
    relevant: _Bool,
    queries: _Int,
    candidates: _Int,
    ties: ListOrder,
) -> tuple[_Groups, _Int]:
    """Sort a block of queries, as `_blocks` yields it; returns as `_tie_groups` does."""
    # Reversing an ascending sort, not negating the scores, suits every type of number. When
    # stable, it puts the later of two tied candidates first.
    kind: Literal["stable"] | None = "stable" if ties == "later_first" else None
    order = np.argsort(scores[candidates], axis=1, kind=kind)[:, ::-1]
    ranked = candidates[:, :1] + order  # the candidates of a query are consecutive

    # Places count through the block, row by row; `first` is where each tie group begins.
    ranked_scores = scores[ranked]
    opens = np.ones(ranked.shape, dtype=np.bool_)
    np.not_equal(ranked_scores[:, 1:], ranked_scores[:, :-1], out=opens[:, 1:])
    first = np.append(np.flatnonzero(opens), opens.size)
    hit = relevant[ranked]
    count = np.diff(np.append(0, np.cumsum(hit))[first])  # relevant candidates of each group
    group = np.flatnonzero(count)
    place, size, count = first[group], np.diff(first)[group], count[group]
    length = ranked.shape[1]
    tied = queries[place[count < size] // length]

    if ties == "best":
        size = count
    elif ties == "worst":
        place, size = place + size - count, count
    elif ties == "later_first":
        place = np.flatnonzero(hit)
        size = count = np.ones_like(place)
    row, start = np.divmod(place, length)
    return _Groups(queries[row], start, size, count), tied


def _relevant_above(groups: _Groups) -> _Int:
    """Number of relevant candidates that each group's query has in the groups above."""
    above = np.cumsum(groups.relevant) - groups.relevant
    new_query = np.diff(groups.query, prepend=-1) != 0
    before_query = above[new_query]
    result: _Int = above - before_query[np.cumsum(new_query) - 1]
    return result


def _by_value(values: _Int) -> Iterator[tuple[int, _Int]]:
    """Yield each distinct value, with the indices where it stands in ascending order."""
    order = np.argsort(values, kind="stable")
    distinct, first = np.unique(values[order], return_index=True)
    yield from zip(distinct.tolist(), np.split(order, first)[1:], strict=True)


def _ratio(numerator: _Float, denominator: npt.NDArray[np.int64 | np.float64]) -> _Float:
    """Quotient that is 0 for a query without relevant candidates, where both are 0."""
    result: _Float = np.divide(
        numerator, denominator, out=np.zeros(numerator.shape), where=denominator > 0
    )
    return result


def _checked_offsets(offsets: npt.ArrayLike) -> _Int:
    array = np.asarray(offsets)
    if array.ndim != 1 or array.size == 0 or array.dtype.kind not in "iu":
        raise ValueError(
            f"offsets must be a one-dimensional array of at least one integer, "
            f"not {array.dtype} of shape {array.shape}"
        )
    array = array.astype(np.int64)
    if array[0] != 0:
        raise ValueError(f"offsets must start at 0, not at {array[0]}")
    falls = np.flatnonzero(np.diff(array) < 0)
    if falls.size:
        i = falls[0]
        raise ValueError(
            f"offsets must not fall: offset {i + 1} is {array[i + 1]} after {array[i]}"
        )
    return array


def _checked_scores(scores: npt.ArrayLike, offsets: _Int) -> Numbers:
    _check_length("scores", scores, offsets)
    return finite_numbers(scores, "scores", lambda i: f"the score of {_place(i, offsets)}")


def _checked_labels(labels: npt.ArrayLike, offsets: _Int) -> _Bool:
    _check_length("labels", labels, offsets)
    array = finite_numbers(labels, "labels", lambda i: f"the label of {_place(i, offsets)}")
    relevant: _Bool = array == 1
    wrong = np.flatnonzero(~relevant & (array != 0))
    if wrong.size:
        raise ValueError(
            f"the label of {_place(int(wrong[0]), offsets)} is {array[wrong[0]]}; "
            "every label must be 0 or 1"
        )
    return relevant


def _check_length(name: str, values: npt.ArrayLike, offsets: _Int) -> None:
    if np.shape(values) != (offsets[-1],):
        raise ValueError(
            f"{name} must have shape ({offsets[-1]},) to match the last offset, "
            f"not {np.shape(values)}"
        )


def _place(position: int, offsets: _Int) -> str:
    query = np.searchsorted(offsets, position, side="right") - 1
    return f"candidate {position - offsets[query]} of query {query}"
