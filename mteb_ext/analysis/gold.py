"""The gold of a task, and a model's predictions laid beside it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from mteb.abstasks.retrieval import AbsTaskRetrieval
from mteb.abstasks.sts import AbsTaskSTS

from mteb_ext.bases import PaperRanking, PaperSTS
from mteb_ext.bases.candidates import CandidateLists, RankedLists
from mteb_ext.bases.sts import parts_of
from mteb_ext.errors import DataError, MtebExtError, OfflineError, ProtocolError
from mteb_ext.measures import Measure
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


@dataclass(frozen=True)
class PairGold:
    """Gold scores of pairs.

    Attributes:
        score: ``(n,)`` the gold scores.
        parts: ``(n,)`` whether each pair is in a part that is reported by itself, by its name.
    """

    score: NDArray[np.float64]
    parts: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict)

    def of(self, measure: Measure) -> NDArray[np.float64]:
        """The gold scores of the pairs that a measure is over.

        Raises:
            ProtocolError: If the task has no such part.
        """
        return self.score[self.here(measure)]

    def similarities(self, predicted: object, measure: Measure) -> NDArray[np.float64]:
        """A model's scores of the pairs that a measure is over.

        Args:
            predicted: mteb's prediction: lists of scores by similarity.
            measure: A correlation.

        Raises:
            DataError: If there is not one finite score a pair.
            ProtocolError: If the predictions have no such similarity, the task no such part, or the
                measure is no correlation.
        """
        if not measure.is_correlation:
            raise ProtocolError(f"{measure} is over queries, and this task scores pairs.")
        held = predicted if isinstance(predicted, dict) else {}
        names = _SIMILARITIES[measure.similarity]
        found = next((held[name] for name in names if held.get(name) is not None), None)
        if found is None:
            raise ProtocolError(f"there are no {' or '.join(names)} to compute {measure} of.")
        scores = _numbers(found)
        if scores.shape != self.score.shape:
            raise DataError(f"{scores.size} scores for {self.score.size} pairs.")
        if not np.isfinite(scores).all():
            row = int(np.argmin(np.isfinite(scores)))
            raise DataError(f"the score of row {row} is {scores[row]}, no finite number.")
        return scores[self.here(measure)]

    def here(self, measure: Measure) -> NDArray[np.bool_]:
        """(n,) whether a measure is over each pair."""
        if not measure.part:
            return np.ones(self.score.shape, dtype=bool)
        if measure.part not in self.parts:
            known = ", ".join(self.parts) or "none"
            raise ProtocolError(
                f"{measure}: no pairs are in a part {measure.part}; parts: {known}."
            )
        return self.parts[measure.part]


@dataclass(frozen=True)
class QueryGold:
    """Relevance grades of queries' documents.

    Attributes:
        qrels: Grades by query and document.
        candidates: The candidate lists, which predictions hold whole, in the file's order; None
            where a model searches the corpus, and predictions hold the first ``depth`` documents.
        depth: How deep mteb's predictions are.
        sets: The question sets by name; the headline's has none. Where there is no rule, every
            query that has a grade counts.
        ignore_identical_ids: mteb's rule that a query does not find itself.
        skip_first_result: mteb's rule that the first document does not count.
    """

    qrels: Mapping[str, Mapping[str, int]]
    candidates: Mapping[str, Iterable[str]] | None
    depth: int
    sets: Mapping[str, QuestionFilter] = field(default_factory=dict)
    ignore_identical_ids: bool = False
    skip_first_result: bool = False

    def lists(self, predicted: object) -> RankedLists:
        """A model's scores of every query's documents, with their grades.

        Raises:
            DataError: If a query or a candidate is missing or unknown, or a score is not a finite
                number.
        """
        if not isinstance(predicted, dict):
            raise DataError("the file holds no scores by query.")
        self._check_queries(predicted)
        scores: list[NDArray[np.float64]] = []
        documents: dict[str, Sequence[str]] = {}
        for query in self.qrels:
            held = predicted.get(query)
            if not isinstance(held, dict):
                raise DataError(f"query {query} is missing.")
            self._check_candidates(query, held)
            documents[query], values = self._documents(query, held)
            scores.append(values)
        lists = CandidateLists.of(documents, self.qrels)
        depth = self.depth if self.candidates is None else None
        return RankedLists(lists, np.concatenate(scores), self.sets, depth)

    def _check_queries(self, held: Collection[str]) -> None:
        """Refuse predictions of queries that the task does not have.

        A model that searches a corpus may be asked for queries without a relevant document.
        """
        if self.candidates is not None and (other := sorted(set(held) - set(self.qrels))):
            raise DataError(
                f"there is no query {other[0]:.60} in the task, and {len(other)} such faults."
            )

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
        """The documents that count, in the order of the candidate list if there is one."""
        names = list(held if self.candidates is None else self.candidates.get(query, ()))
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
        parts = parts_of(data) if isinstance(task, PaperSTS) else {}
        return PairGold(np.asarray(data["score"][:], dtype=np.float64), parts)
    if isinstance(task, PaperRanking):
        return QueryGold(data["relevant_docs"], data["relevant_docs"], 0, task.question_sets())
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


def load_data(task: AbsTask) -> None:
    """Load a task's data, in the form that gold is taken from.

    Raises:
        DataError: If it cannot be loaded, for whatever reason.
    """
    try:
        task.load_data()
        if isinstance(task, AbsTaskRetrieval):
            task.convert_v1_dataset_format_to_v2(num_proc=None)
    except MtebExtError:
        raise
    except Exception as error:  # of whatever loads the data of mteb's tasks
        raise OfflineError(
            f"{task.metadata.name}: its data cannot be loaded ({type(error).__name__}: {error})."
        ) from error
