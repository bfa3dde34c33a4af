"""Candidate lists: the documents of every query, and one model's scores of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, compress
from typing import TYPE_CHECKING

import numpy as np

from mteb_ext.errors import ProtocolError, UndefinedMetricError
from mteb_ext.measures import Measure, TieOrder
from mteb_ext.metrics.graded import graded_ndcg
from mteb_ext.metrics.ranking import ListOrder, Ranking
from mteb_ext.protocol import QuestionFilter

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class CandidateLists:
    """The documents of all queries, flat: those of the first query, of the second, and so on.

    Attributes:
        query_ids: ``(Q,)`` the queries.
        names: ``(N,)`` the documents' names, distinct within a query.
        grades: ``(N,)`` their relevance grades; 0 is not relevant.
        offsets: ``(Q + 1,)`` where each query's documents begin.
        judged: ``(Q,)`` each query's grades of all documents that have one, for recall and the
            ideal order. They are more than the lists hold where a model searched a corpus.
    """

    query_ids: Sequence[str]
    names: Sequence[str]
    grades: NDArray[np.int64]
    offsets: NDArray[np.int64]
    judged: Sequence[NDArray[np.int64]]

    @classmethod
    def of(
        cls, documents: Mapping[str, Sequence[str]], qrels: Mapping[str, Mapping[str, int]]
    ) -> CandidateLists:
        """Lay out lists.

        Args:
            documents: Each query's documents, in the order of the file where there is one.
            qrels: Grades by query and document. What has none is not relevant.
        """
        grades = [qrels.get(q, {}).get(name, 0) for q, names in documents.items() for name in names]
        return cls(
            list(documents),
            list(chain.from_iterable(documents.values())),
            np.array(grades, dtype=np.int64),
            np.cumsum([0, *map(len, documents.values())]),
            [np.array(list(qrels.get(q, {}).values()), dtype=np.int64) for q in documents],
        )

    def kept_by(self, keep: QuestionFilter) -> NDArray[np.bool_]:
        """``(Q,)`` whether each query passes a filter."""
        slices = zip(self.offsets[:-1], self.offsets[1:], strict=True)
        return np.array([keep.keeps(self.grades[a:b].tolist()) for a, b in slices], dtype=bool)

    def by_id(self, values: NDArray[np.float64]) -> dict[str, dict[str, float]]:
        """Scores as mteb keeps them: by query and document."""
        slices = zip(self.query_ids, self.offsets[:-1], self.offsets[1:], strict=True)
        return {
            query: dict(zip(self.names[a:b], values[a:b].tolist(), strict=True))
            for query, a, b in slices
        }

    def flat(self, by_id: Mapping[str, Mapping[str, float]]) -> NDArray[np.float64]:
        """``(N,)`` scores, from what :meth:`by_id` returns."""
        slices = zip(self.query_ids, self.offsets[:-1], self.offsets[1:], strict=True)
        values = [by_id[query][name] for query, a, b in slices for name in self.names[a:b]]
        return np.array(values, dtype=np.float64)

    @cached_property
    def name_order(self) -> NDArray[np.intp]:
        """``(N,)`` where the documents stand that :meth:`by_name` brings together."""
        slices = zip(self.offsets[:-1].tolist(), self.offsets[1:].tolist(), strict=True)
        rows = (sorted(range(a, b), key=self.names.__getitem__) for a, b in slices)
        return np.fromiter(chain.from_iterable(rows), dtype=np.intp, count=len(self.names))


@dataclass(frozen=True)
class RankedLists:
    """One model's scores of candidate lists.

    Attributes:
        lists: The lists.
        scores: ``(N,)`` the scores, finite; higher is better.
        sets: The question sets by name; the task's own has the empty name. Where it is not given,
            every query counts.
        depth: How many documents a query the model returned when it searched; None where it scored
            whole candidate lists.
    """

    lists: CandidateLists
    scores: NDArray[np.float64]
    sets: Mapping[str, QuestionFilter] = field(default_factory=dict)
    depth: int | None = None
    _rankings: dict[TieOrder, Ranking] = field(default_factory=dict, repr=False)

    def values(self, measure: Measure) -> NDArray[np.float64]:
        """The measure of each query that counts, from 0 to 1.

        Raises:
            ProtocolError: If there is no such measure here, or the lists are not deep enough.
        """
        self._check(measure)
        kept = self._kept[measure.part]
        if measure.metric == "ndcg" and (self._lost.any() or (self.lists.grades > 1).any()):
            return self._graded_ndcg(measure)[kept]
        found = self._binary(measure)
        if measure.metric in {"map", "recall"} and self._lost.any():
            # Shares of all relevant documents, found or not.
            n_found = self._ranking(measure.ties).n_relevant
            found = found * n_found / np.maximum(self._n_relevant, 1)
        return found[kept]

    def mean(self, measure: Measure) -> float:
        """The mean of :meth:`values`.

        Raises:
            UndefinedMetricError: If no query counts.
        """
        values = self.values(measure)
        if not values.size:
            raise UndefinedMetricError(
                f"none of the {len(self.lists.query_ids)} questions passes the question filter: "
                "the mean over no question is undefined. Look at the relevance labels, or choose "
                "another filter."
            )
        return float(values.mean())

    def queries(self, measure: Measure) -> list[str]:
        """The queries that count, in the order of :meth:`values`."""
        return list(compress(self.lists.query_ids, self._kept[measure.part]))

    def tied(self, measure: Measure) -> NDArray[np.bool_]:
        """Whether a relevant and an irrelevant document of each query that counts tie."""
        return self._ranking("expected").tied_across_labels[self._kept[measure.part]]

    def _check(self, measure: Measure) -> None:
        if measure.is_correlation:
            raise ProtocolError(f"{measure} is over pairs, and this task ranks documents.")
        if measure.part not in self._kept:
            known = ", ".join(filter(None, self.sets)) or "none"
            raise ProtocolError(f"{measure}: there is no question set {measure.part}; {known}.")
        if self.depth is None:
            return
        if measure.ties == "later_first":
            raise ProtocolError(f"{measure}: what a search returns has no places in a file.")
        if measure.cutoff is None or measure.cutoff > self.depth:
            raise ProtocolError(
                f"{measure} looks deeper than its predictions, which hold {self.depth:,} "
                f"documents a query. Ask for {measure.metric}_at_{self.depth} or less."
            )

    @cached_property
    def _kept(self) -> Mapping[str, NDArray[np.bool_]]:
        """``(Q,)`` whether each query counts, by question set."""
        every = {"": np.ones(len(self.lists.query_ids), dtype=bool)}
        return every | {name: self.lists.kept_by(keep) for name, keep in self.sets.items()}

    @cached_property
    def _n_relevant(self) -> NDArray[np.int64]:
        """``(Q,)`` the number of relevant documents of each query, found or not."""
        return np.array([(grades > 0).sum() for grades in self.lists.judged], dtype=np.int64)

    @cached_property
    def _lost(self) -> NDArray[np.bool_]:
        """``(Q,)`` whether the lists lack a relevant document of each query."""
        return self._n_relevant > self._ranking("expected").n_relevant

    def _binary(self, measure: Measure) -> NDArray[np.float64]:
        ranking, k = self._ranking(measure.ties), measure.cutoff
        if measure.metric in {"map", "mrr", "ndcg"}:
            whole: Mapping[str, Callable[[int | None], NDArray[np.float64]]] = {
                "map": ranking.average_precision,
                "mrr": ranking.reciprocal_rank,
                "ndcg": ranking.ndcg,
            }
            return whole[measure.metric](k)
        assert k is not None  # a measure without it cannot be made
        cut: Mapping[str, Callable[[int], NDArray[np.float64]]] = {
            "precision": ranking.precision,
            "recall": ranking.recall,
            "hit_rate": ranking.hit_rate,
        }
        return cut[measure.metric](k)

    def _graded_ndcg(self, measure: Measure) -> NDArray[np.float64]:
        scores, grades, ties = self._in_order(self.lists.grades, measure.ties)
        lists = self.lists
        return graded_ndcg(scores, grades, lists.offsets, lists.judged, measure.cutoff, ties)

    def _ranking(self, ties: TieOrder) -> Ranking:
        if ties not in self._rankings:
            relevant = (self.lists.grades > 0).astype(np.int64)
            scores, labels, order = self._in_order(relevant, ties)
            self._rankings[ties] = Ranking(scores, labels, self.lists.offsets, ties=order)
        return self._rankings[ties]

    def _in_order(
        self, of_documents: NDArray[np.int64], ties: TieOrder
    ) -> tuple[NDArray[np.float64], NDArray[np.int64], ListOrder]:
        """Scores and another value a document; sorted by name for trec_eval, the later first."""
        if ties != "trec_eval":
            return self.scores, of_documents, ties
        order = self.lists.name_order
        return self.scores[order], of_documents[order], "later_first"
