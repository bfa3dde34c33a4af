"""nDCG of graded relevance, exact when scores tie; `mteb_ext.metrics.ranking` is for 0 and 1."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from mteb_ext.metrics.ranking import ListOrder


def graded_ndcg(
    scores: npt.NDArray[np.float64],
    gains: npt.NDArray[np.int64],
    offsets: npt.NDArray[np.int64],
    all_gains: Sequence[npt.NDArray[np.int64]],
    k: int | None = None,
    ties: ListOrder = "expected",
) -> npt.NDArray[np.float64]:
    """Discounted cumulative gain over that of the best order of all judged documents.

    The gain of a document is its relevance grade and its discount ``log2(1 + rank)``, as in
    trec_eval's ``ndcg`` and ``ndcg_cut`` (Järvelin and Kekäläinen, TOIS 2002). In the expected
    value over random orders of equal scores each of them has their mean gain (McSherry and Najork,
    ECIR 2008).

    Args:
        scores: ``(N,)`` numbers, higher is better.
        gains: ``(N,)`` relevance grades of the documents that were retrieved; what is below 0
            counts as 0.
        offsets: ``(Q + 1,)`` where the documents of each query begin.
        all_gains: The grades of each query's judged documents, retrieved or not.
        k: The cut-off of both sums; the whole list by default.
        ties: As in :class:`mteb_ext.metrics.ranking.Ranking`.

    Returns:
        ``(Q,)`` values from 0 to 1; 0 for a query without a relevant document.
    """
    values = scores.astype(np.float32) if ties == "later_first" else scores
    bounds = zip(offsets[:-1], offsets[1:], all_gains, strict=True)
    return np.array(
        [_ndcg(values[a:b], np.maximum(gains[a:b], 0), judged, k, ties) for a, b, judged in bounds]
    )


def _ndcg(
    scores: npt.NDArray[np.floating],
    gains: npt.NDArray[np.int64],
    judged: npt.NDArray[np.int64],
    k: int | None,
    ties: ListOrder,
) -> float:
    ideal = np.sort(np.maximum(judged, 0))[::-1][:k]
    if not ideal.any():
        return 0.0
    later_first = -np.arange(gains.size)
    tie_breaker = {"best": -gains, "worst": gains}.get(ties, later_first)
    order = np.lexsort((tie_breaker, -scores))
    found = gains[order].astype(np.float64)
    if ties == "expected" and found.size:
        groups = np.flatnonzero(np.diff(scores[order], prepend=np.inf))
        sizes = np.diff([*groups, gains.size])
        found = np.repeat(np.add.reduceat(found, groups) / sizes, sizes)
    return _discounted(found[:k]) / _discounted(ideal)


def _discounted(gains: npt.NDArray[np.number]) -> float:
    return float((gains / np.log2(np.arange(2, gains.size + 2))).sum())
