"""The gold of a task, and a model's predictions laid beside it."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress
from typing import TYPE_CHECKING, Any

import numpy as np
from mteb.abstasks.retrieval import AbsTaskRetrieval
from mteb.abstasks.sts import AbsTaskSTS

from mteb_ext.bases import PaperRanking
from mteb_ext.errors import DataError, ProtocolError
from mteb_ext.metrics.graded import graded_ndcg
from mteb_ext.metrics.ranking import Ranking, TieOrder
from mteb_ext.metrics.significance import Method
from mteb_ext.names import did_you_mean
from mteb_ext.protocol import QuestionFilter

if TYPE_CHECKING:
    from mteb.abstasks import AbsTask
    from numpy.typing import NDArray

TYPES = {"STS": AbsTaskSTS, "Retrieval": AbsTaskRetrieval, "Reranking": AbsTaskRetrieval}
"""The types of task whose predictions can be scored again, and mteb's class of each."""

_SIMILARITIES = {
    "cosine": ("cosine_scores",),
    "manhattan": ("manhattan_distances",),  # mteb negates the distances
    "euclidean": ("euclidean_distances",),
    "": ("similarity_scores", "cosine_scores"),
}
_CORRELATION = re.compile(r"(?:(cosine|manhattan|euclidean)_)?(pearson|spearman)")
_RANKING = re.compile(r"(map|mrr|ndcg|precision|recall|hit_rate)(?:_at_(\d+))?(?:_(.+))?")
_CORRELATIONS = [
    f"{similarity}{coefficient}"
    for similarity in ("", "cosine_", "manhattan_", "euclidean_")
    for coefficient in ("pearson", "spearman")
]
_RANKINGS = (
    *("map", "mrr", "ndcg", "map_at_10", "mrr_at_10", "ndcg_at_10", "precision_at_1"),
    *("precision_at_5", "precision_at_10", "recall_at_10", "recall_at_100", "hit_rate_at_10"),
)
_NEEDS_CUTOFF = frozenset({"precision", "recall", "hit_rate"})


def correlation_metric(metric: str) -> tuple[str, Method]:
    """A correlation's similarity, empty for the model's own, and its coefficient.

    Raises:
        ProtocolError: If the metric is none.
    """
    match = _CORRELATION.fullmatch(metric)
    if match is None:
        raise ProtocolError(f"{metric} is no correlation.{did_you_mean(metric, _CORRELATIONS)}")
    return match[1] or "", "pearson" if match[2] == "pearson" else "spearman"


@dataclass(frozen=True)
class PairGold:
    """Gold scores of pairs."""

    score: NDArray[np.float64]

    def similarities(self, predicted: object, metric: str) -> NDArray[np.float64]:
        """A model's scores of the pairs.

        Args:
            predicted: mteb's prediction: lists of scores by similarity.
            metric: A coefficient, ``spearman``, or one of a similarity, ``cosine_spearman``.

        Raises:
            DataError: If there is not one finite score a pair.
            ProtocolError: If there is no such metric, or no such similarity.
        """
        similarity, _ = correlation_metric(metric)
        held = predicted if isinstance(predicted, dict) else {}
        names = _SIMILARITIES[similarity]
        found = next((held[name] for name in names if held.get(name) is not None), None)
        if found is None:
            raise ProtocolError(f"there are no {' or '.join(names)} to compute {metric} of.")
        scores = _numbers(found)
        if scores.shape != self.score.shape:
            raise DataError(f"{scores.size} scores for {self.score.size} pairs.")
        if not np.isfinite(scores).all():
            row = int(np.argmin(np.isfinite(scores)))
            raise DataError(f"the score of row {row} is {scores[row]}, no finite number.")
        return scores


@dataclass(frozen=True)
class QueryGold:
    """Relevance grades of queries' documents.

    Attributes:
        qrels: Grades by query and document.
        candidates: The candidate lists, which predictions hold whole; None where a model searches
            the corpus, and predictions hold the first ``depth`` documents that it found.
        depth: How deep mteb's predictions are.
        sets: The named questions that a second average is over, and those of the headline, whose
            name is empty; all that have a grade where there is no such rule.
        ignore_identical_ids: mteb's rule that a query does not find itself.
        skip_first_result: mteb's rule that the first document does not count.
    """

    qrels: Mapping[str, Mapping[str, int]]
    candidates: Mapping[str, Collection[str]] | None
    depth: int
    sets: Mapping[str, QuestionFilter] = field(default_factory=dict)
    ignore_identical_ids: bool = False
    skip_first_result: bool = False

    def lists(self, predicted: object) -> RankedLists:
        """A model's scores of every query's documents, with their grades.

        Raises:
            DataError: If a query, or a candidate of its list, is missing, or a score is not a
                finite number.
        """
        if not isinstance(predicted, dict):
            raise DataError("it holds no scores by query.")
        scores: list[NDArray[np.float64]] = []
        grades: list[int] = []
        for query, qrel in self.qrels.items():
            held = predicted.get(query)
            if not isinstance(held, dict):
                raise DataError(f"query {query} is missing.")
            self._check_candidates(query, held)
            names, values = self._documents(query, held)
            scores.append(values)
            grades += [qrel.get(name, 0) for name in names]
        offsets = np.cumsum([0, *map(len, scores)])
        return RankedLists(np.concatenate(scores), np.array(grades, np.int64), offsets, self)

    def _check_candidates(self, query: str, held: Collection[str]) -> None:
        if self.candidates is None:
            return
        expected = set(self.candidates.get(query, ()))
        if other := sorted(expected ^ set(held)):
            fault = "no score of its candidate" if other[0] in expected else "a score of"
            raise DataError(f"query {query} has {fault} {other[0]}, and {len(other)} such faults.")

    def _documents(
        self, query: str, held: Mapping[str, Any]
    ) -> tuple[Sequence[str], NDArray[np.float64]]:
        """The documents that count, in the order of their names, which decides trec_eval's ties."""
        names = sorted(held)
        if self.skip_first_result:
            first = max(held, key=lambda name: held[name], default=None)
            names = [name for name in names if name != first]
        if self.ignore_identical_ids:
            names = [name for name in names if name != query]
        values = _numbers([held[name] for name in names])
        if not np.isfinite(values).all():
            bad = int(np.argmin(np.isfinite(values)))
            raise DataError(
                f"the score of document {names[bad]} for query {query} is {values[bad]}, no "
                "finite number."
            )
        return names, values


@dataclass(frozen=True)
class RankedLists:
    """One model's scores of all queries' documents, flat, with the grades.

    Attributes:
        scores: (N,) the scores.
        grades: (N,) the relevance grades.
        offsets: (Q + 1,) where the documents of each query begin.
        gold: What they are scored against.
    """

    scores: NDArray[np.float64]
    grades: NDArray[np.int64]
    offsets: NDArray[np.int64]
    gold: QueryGold
    _rankings: dict[TieOrder, Ranking] = field(default_factory=dict, repr=False)

    def values(self, metric: str, ties: TieOrder = "expected") -> NDArray[np.float64]:
        """The metric of each query that counts.

        Args:
            metric: ``map``, ``mrr``, ``ndcg``, or one of these, ``precision``, ``recall`` and
                ``hit_rate`` with a cut-off, ``ndcg_at_10``; with the name of a question set at its
                end, ``map_both``.
            ties: The order of equal scores.

        Raises:
            ProtocolError: If there is no such metric, or the predictions are not deep enough.
        """
        name, k, keep = self._parsed(metric)
        ranking = self._ranking(ties)
        judged = [np.array(list(qrel.values()), np.int64) for qrel in self.gold.qrels.values()]
        n_relevant = np.array([(grades > 0).sum() for grades in judged])
        lost = (n_relevant > ranking.n_relevant).any()
        if name == "ndcg" and (lost or (self.grades > 1).any()):
            found = graded_ndcg(self.scores, self.grades, self.offsets, judged, k, ties)
        elif name in {"map", "mrr"}:
            found = (ranking.average_precision if name == "map" else ranking.reciprocal_rank)(k)
        else:
            found = getattr(ranking, name)(k)
        if lost and name in {"map", "recall"}:  # shares of all relevant documents, found or not
            found = found * ranking.n_relevant / np.maximum(n_relevant, 1)
        return found[keep]

    def queries(self, metric: str) -> list[str]:
        """The queries that count, in the order of :meth:`values`."""
        return list(compress(self.gold.qrels, self._parsed(metric)[2]))

    def tied(self, metric: str) -> NDArray[np.bool_]:
        """Whether a relevant and an irrelevant document of each query that counts tie."""
        return self._ranking("expected").tied_across_labels[self._parsed(metric)[2]]

    def _parsed(self, metric: str) -> tuple[str, int | None, NDArray[np.bool_]]:
        match = _RANKING.fullmatch(metric)
        name, k, questions = match.groups() if match else ("", None, None)
        unknown = match is None or (questions or "") not in {"", *self.gold.sets}
        if unknown or (k is None and name in _NEEDS_CUTOFF) or k == "0":
            raise ProtocolError(f"{metric} is no metric of it.{did_you_mean(metric, _RANKINGS)}")
        if self.gold.candidates is None and (k is None or int(k) > self.gold.depth):
            raise ProtocolError(
                f"{metric} looks deeper than its predictions, which hold {self.gold.depth:,} "
                f"documents a query: ask for {name}_at_{self.gold.depth} or less."
            )
        return name, int(k) if k else None, self._kept(questions or "")

    def _kept(self, questions: str) -> NDArray[np.bool_]:
        """(Q,) whether each query counts."""
        rule = self.gold.sets.get(questions)
        parts = np.split(self.grades, self.offsets[1:-1])
        return np.array([rule is None or rule.keeps(grades.tolist()) for grades in parts])

    def _ranking(self, ties: TieOrder) -> Ranking:
        if ties not in self._rankings:
            relevant = (self.grades > 0).astype(np.int64)
            self._rankings[ties] = Ranking(self.scores, relevant, self.offsets, ties=ties)
        return self._rankings[ties]


def load_gold(task: AbsTask, split: str, subset: str) -> PairGold | QueryGold:
    """The gold of one split and subset of a task whose data is loaded.

    Args:
        task: A task of one of the `TYPES`.
        split: The split.
        subset: The subset.

    Raises:
        DataError: If the data has no such split or subset.
    """
    try:
        dataset: Any = task.dataset
        data = dataset.get(subset, dataset)[split]  # flatter where a task has no subsets
    except (KeyError, AttributeError) as error:
        raise DataError(f"{task.metadata.name} has no data of {split}, {subset}.") from error
    if isinstance(task, AbsTaskSTS):
        return PairGold(np.asarray(data["score"][:], dtype=np.float64))
    if isinstance(task, PaperRanking):
        also = task.protocol.also
        sets = {"": task.protocol.keep} | ({also.name: also.keep} if also else {})
        return QueryGold(data["relevant_docs"], data["top_ranked"], 0, sets)
    assert isinstance(task, AbsTaskRetrieval)
    return QueryGold(
        data["relevant_docs"],
        data["top_ranked"],
        max(task.k_values),
        ignore_identical_ids=task.ignore_identical_ids,
        skip_first_result=task.skip_first_result,
    )


def _numbers(values: object) -> NDArray[np.float64]:
    try:
        found = np.asarray(values)
    except (TypeError, ValueError) as error:
        raise DataError(f"the scores are no numbers: {error}") from error
    if found.size and found.dtype.kind not in "fiu":
        raise DataError("the scores are no numbers that float64 can hold. Run the model again.")
    return found.astype(np.float64)
