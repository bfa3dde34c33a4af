"""PaperRanking: answer sentence selection and retrieval by a paper's protocol."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa
from datasets import Dataset
from mteb.abstasks.retrieval import AbsTaskRetrieval
from mteb.models import CrossEncoderProtocol, EncoderProtocol, SearchProtocol
from mteb.types import PromptType

from mteb_ext.bases.task import DEFAULT_SUBSET, PaperTask, column, errors_named, interval_scores
from mteb_ext.data.checks import fingerprint
from mteb_ext.data.records import Question
from mteb_ext.data.sources import Source
from mteb_ext.encoding import Call, Scorer, Texts
from mteb_ext.errors import ProtocolError, UndefinedMetricError
from mteb_ext.metrics import significance
from mteb_ext.metrics.ranking import Ranking
from mteb_ext.protocol import QuestionFacts, QuestionFilter, RankingProtocol

if TYPE_CHECKING:
    from mteb.models import MTEBModels
    from mteb.timing import TimingStack
    from mteb.types import EncodeKwargs
    from numpy.typing import NDArray


class PaperRanking(PaperTask, AbsTaskRetrieval):
    """A ranking task: metrics per question over its full candidate list, then averaged.

    Scores, all over the questions that the protocol keeps: ``map`` and ``mrr``; ``precision_at_N``
    for the protocol's N; ``map_trec_eval`` and ``mrr_trec_eval``, in which equal scores stand in
    trec_eval's order; ``map_best`` and ``map_worst``, over all orders of equal scores;
    ``num_queries`` and ``num_queries_with_ties``, those in which an order of equal scores matters;
    ``ci95_low`` and ``ci95_high``, the 95% interval of ``map``; and mteb's own keys, which end in
    ``_at_k``. The protocol's second average adds its name: ``map_both``, ``map_both_trec_eval``.
    Where nothing else is said, a metric is its expected value over random orders of equal scores.
    """

    protocol: ClassVar[RankingProtocol]
    _task_types = ("Retrieval", "Reranking")

    @classmethod
    @abstractmethod
    def read(cls, source: Source, split: str, subset: str) -> list[Question]:
        """Read the questions of one split.

        Raises:
            DataError: If a file is missing or damaged.
        """

    @classmethod
    def subsets(cls, split: str) -> list[str]:
        """The subsets of a split: one."""
        return [DEFAULT_SUBSET]

    @classmethod
    def _facts(cls, split: str, subset: str) -> QuestionFacts:
        return cls.protocol.facts[split]

    def _load_splits(self) -> set[str]:
        revisions, splits = set(), {}
        for split in self.eval_splits:
            questions, revision = self.load(split)
            self.fingerprints[f"{split}/{DEFAULT_SUBSET}"] = fingerprint(questions)
            splits[split] = retrieval_split(
                [q for q in questions if self.protocol.reports_on(q.labels)]
            )
            revisions.add(revision)
        self.dataset = {DEFAULT_SUBSET: splits}  # type: ignore[dict-item]
        return revisions

    def convert_to_reranking(self, top_ranked_path: str | Path, top_k: int = 10) -> Any:  # noqa: ANN401
        """Refused: the protocol ranks each question's full candidate list.

        Raises:
            ProtocolError: Always.
        """
        raise ProtocolError(
            f"{self.metadata.name} ranks the full candidate list of every question; it cannot be "
            f"cut to the top {top_k} of another run."
        )

    def _evaluate_subset(
        self,
        model: MTEBModels,
        data_split: Mapping[str, Any],
        *,
        encode_kwargs: EncodeKwargs,
        hf_split: str,
        hf_subset: str,
        prediction_folder: Path | None = None,
        num_proc: int | None = None,
        timer: TimingStack,
        **kwargs: Any,
    ) -> dict[str, float | str]:
        call = Call(self.metadata, hf_split, hf_subset)
        with errors_named(self.metadata.name, hf_split, hf_subset):
            self._check_prediction_folder(model, prediction_folder, hf_split, hf_subset)
            lists = _CandidateLists.of(data_split)
            remarks: dict[str, str] = {}
            with timer("Scoring candidates", split=hf_split, subset=hf_subset):
                if isinstance(model, SearchProtocol) and not _has_vectors_or_pairs(model):
                    scores = _search(model, data_split, lists, call, encode_kwargs, num_proc)
                else:
                    scorer = Scorer(model, call, encode_kwargs, num_proc)  # type: ignore[arg-type]
                    remarks = scorer.remarks
                    self._remark(remarks, hf_subset)
                    scores = scorer.score_pairs(*lists.sides(symmetric=self.protocol.symmetric))
            if prediction_folder:
                self._save_task_predictions(
                    lists.by_id(scores), model, prediction_folder, hf_split, hf_subset
                )
            with timer("Computing metrics", split=hf_split, subset=hf_subset):
                return self._ranking_scores(scores, lists) | remarks

    def rescore(self, split: str, subset: str, predicted: Any) -> dict[str, float | str]:  # noqa: ANN401
        """See :meth:`PaperTask.rescore`."""
        lists = _CandidateLists.of(self.dataset[subset][split])
        return self._ranking_scores(lists.flat(predicted), lists)

    def _ranking_scores(
        self, values: NDArray[np.float64], lists: _CandidateLists
    ) -> dict[str, float | str]:
        best, worst, expected, trec_eval = (
            Ranking(values, lists.labels, lists.offsets, ties=ties)
            for ties in ("best", "worst", "expected", "trec_eval")
        )
        of_question = {"map": expected.average_precision(), "mrr": expected.reciprocal_rank()}
        in_trec_eval = {"map": trec_eval.average_precision(), "mrr": trec_eval.reciprocal_rank()}
        kept = lists.kept_by(self.protocol.keep)
        main = of_question[self.protocol.headline]
        scores: dict[str, float | str] = {
            **_mteb_scores(expected, kept, self.k_values),
            **{
                f"precision_at_{n}": _mean(expected.precision(n), kept)
                for n in self.protocol.cutoffs
            },
            **_averages(of_question, in_trec_eval, kept, ""),
            "map_best": _mean(best.average_precision(), kept),
            "map_worst": _mean(worst.average_precision(), kept),
            **interval_scores("ci95", lambda: significance.mean_interval(main[kept])),
            "num_queries": int(kept.sum()),
            "num_queries_with_ties": int(expected.tied_across_labels[kept].sum()),
        }
        if self.protocol.also:
            name, also = self.protocol.also.name, lists.kept_by(self.protocol.also.keep)
            scores |= _averages(of_question, in_trec_eval, also, f"_{name}")
            scores[f"num_queries_{name}"] = int(also.sum())
        return scores


@dataclass(frozen=True)
class _CandidateLists:
    """All candidate lists of a split, flat.

    Attributes:
        query_ids: (q,) the questions.
        queries: (q,) their texts.
        documents: The texts that are candidates, with their ids.
        candidate_ids: (n,) the candidates of the first question, of the second, and so on.
        labels: (n,) relevance labels.
        offsets: (q + 1,) where each question's candidates begin.
    """

    query_ids: Sequence[str]
    queries: pa.ChunkedArray
    documents: Dataset
    candidate_ids: Sequence[str]
    labels: NDArray[np.int64]
    offsets: NDArray[np.int64]

    @classmethod
    def of(cls, data_split: Mapping[str, Any]) -> _CandidateLists:
        """Flatten mteb's retrieval data, and see that no candidate list has been cut.

        The order of the candidates is that of the relevance labels, which no model is handed.

        Raises:
            ProtocolError: If a question's candidates are not exactly the ones that have a label.
        """
        query_ids = data_split["queries"]["id"][:]
        ranked, qrels = data_split["top_ranked"] or {}, data_split["relevant_docs"]
        ids: list[str] = []
        labels: list[int] = []
        offsets = [0]
        for query in query_ids:
            labelled = qrels.get(query, {})
            _check_complete(query, ranked.get(query, ()), labelled)
            ids += labelled
            labels += labelled.values()
            offsets.append(len(ids))
        return cls(
            query_ids,
            column(data_split["queries"], "text"),
            data_split["corpus"],
            ids,
            np.array(labels, dtype=np.int64),
            np.array(offsets, dtype=np.int64),
        )

    def sides(self, *, symmetric: bool) -> tuple[Texts, Texts]:
        """The texts of all (question, candidate) pairs."""
        document_ids = self.documents["id"][:]
        row_of = {document: row for row, document in enumerate(document_ids)}
        rows = np.array([row_of[candidate] for candidate in self.candidate_ids], dtype=np.intp)
        return (
            Texts(
                self.queries,
                np.repeat(np.arange(len(self.query_ids)), np.diff(self.offsets)),
                None if symmetric else PromptType.query,
                lambda i: f"question {self.query_ids[i]}",
                self.query_ids,
            ),
            Texts(
                column(self.documents, "text"),
                rows,
                None if symmetric else PromptType.document,
                lambda i: f"candidate {document_ids[i]} of question {self._first_asker(rows, i)}",
                document_ids,
            ),
        )

    def _first_asker(self, rows: NDArray[np.intp], document: int) -> str:
        """The first question that has a document among its candidates."""
        place = int(np.argmax(rows == document))
        return self.query_ids[int(np.searchsorted(self.offsets, place, side="right")) - 1]

    def kept_by(self, keep: QuestionFilter) -> NDArray[np.bool_]:
        """(q,) whether each question passes the filter."""
        slices = zip(self.offsets[:-1], self.offsets[1:], strict=True)
        return np.array([keep.keeps(self.labels[a:b].tolist()) for a, b in slices], dtype=bool)

    def by_id(self, values: NDArray[np.float64]) -> dict[str, dict[str, float]]:
        """The scores as mteb keeps them: by question and candidate."""
        slices = zip(self.query_ids, self.offsets[:-1], self.offsets[1:], strict=True)
        return {
            query: dict(zip(self.candidate_ids[a:b], values[a:b].tolist(), strict=True))
            for query, a, b in slices
        }

    def flat(self, by_id: Mapping[str, Mapping[str, float]]) -> NDArray[np.float64]:
        """(n,) the scores that :meth:`by_id` made these of."""
        slices = zip(self.query_ids, self.offsets[:-1], self.offsets[1:], strict=True)
        values = [by_id[query][name] for query, a, b in slices for name in self.candidate_ids[a:b]]
        return np.array(values, dtype=np.float64)


def _check_complete(query: str, found: Collection[str], expected: Mapping[str, int]) -> None:
    if len(found) != len(expected) or set(found) != set(expected):
        raise ProtocolError(
            f"question {query} has {len(set(found) & set(expected))} of its {len(expected)} "
            "candidates. The protocol ranks the full candidate list: no top-k cut, nothing added."
        )


def _has_vectors_or_pairs(model: SearchProtocol) -> bool:
    """Whether a search model can be compared by the protocol's cosine, or by scores of pairs.

    If so, its own index and similarity are left out. Late interaction has no single vectors.
    """
    late_interaction = "late-interaction" in (model.mteb_model_meta.model_type or ())
    return isinstance(model, (EncoderProtocol, CrossEncoderProtocol)) and not late_interaction


def _search(
    model: SearchProtocol,
    data_split: Mapping[str, Any],
    lists: _CandidateLists,
    call: Call,
    encode_kwargs: EncodeKwargs,
    num_proc: int | None,
) -> NDArray[np.float64]:
    """Let a search model score every candidate of every question.

    Raises:
        ProtocolError: If it returns no finite score for one of them.
    """
    where: dict[str, Any] = {
        "task_metadata": call.task_metadata,
        "hf_split": call.hf_split,
        "hf_subset": call.hf_subset,
        "encode_kwargs": dict(encode_kwargs),
        "num_proc": num_proc,
    }
    model.index(data_split["corpus"], **where)
    results = model.search(
        data_split["queries"],
        top_k=len(data_split["corpus"]),
        # Copies: a model may sort or cut what it is handed, and the next one reads it again.
        top_ranked={query: list(ids) for query, ids in data_split["top_ranked"].items()},
        **where,
    )
    values = []
    for query, start, end in zip(lists.query_ids, lists.offsets, lists.offsets[1:], strict=False):
        candidates, found = lists.candidate_ids[start:end], results.get(query, {})
        _check_complete(query, [c for c in candidates if c in found], dict.fromkeys(candidates, 0))
        values += [float(found[candidate]) for candidate in candidates]
    array = np.array(values, dtype=np.float64)
    if not np.isfinite(array).all():
        bad = lists.candidate_ids[int(np.argmin(np.isfinite(array)))]
        raise ProtocolError(f"the search model's score of candidate {bad} is not a finite number")
    return array


def retrieval_split(questions: Sequence[Question]) -> dict[str, Any]:
    """Questions in the form of mteb's retrieval tasks, every candidate with its label."""
    ids = _document_ids(questions)
    corpus = {
        document: text
        for question, names in zip(questions, ids, strict=True)
        for document, text in zip(names, question.candidates, strict=True)
    }
    return {
        "corpus": Dataset.from_dict({"id": list(corpus), "text": list(corpus.values())}),
        "queries": Dataset.from_dict(
            {"id": [q.id for q in questions], "text": [q.text for q in questions]}
        ),
        "relevant_docs": {
            q.id: dict(zip(names, q.labels, strict=True))
            for q, names in zip(questions, ids, strict=True)
        },
        "top_ranked": {q.id: list(names) for q, names in zip(questions, ids, strict=True)},
    }


def _document_ids(questions: Sequence[Question]) -> list[list[str]]:
    """Candidate ids that stand for one text each: mteb keeps the texts of all questions together.

    Where an id stands for other texts in other questions, all of them take their question's id.
    """
    text_of: dict[str, str] = {}
    for question in questions:
        for candidate, text in zip(question.candidate_ids, question.candidates, strict=True):
            if text_of.setdefault(candidate, text) != text:
                return [[f"{q.id}/{name}" for name in q.candidate_ids] for q in questions]
    return [question.candidate_ids for question in questions]


def _mteb_scores(
    ranking: Ranking, kept: NDArray[np.bool_], k_values: Sequence[int]
) -> dict[str, float]:
    """The keys that every retrieval task of mteb has."""
    metrics = {
        "ndcg": ranking.ndcg,
        "map": ranking.average_precision,
        "recall": ranking.recall,
        "precision": ranking.precision,
        "mrr": ranking.reciprocal_rank,
        "hit_rate": ranking.hit_rate,
    }
    return {
        f"{name}_at_{k}": _mean(metric(k), kept)
        for name, metric in metrics.items()
        for k in k_values
    }


def _averages(
    of_question: Mapping[str, NDArray[np.float64]],
    in_trec_eval: Mapping[str, NDArray[np.float64]],
    kept: NDArray[np.bool_],
    suffix: str,
) -> dict[str, float]:
    return {
        **{f"{name}{suffix}": _mean(values, kept) for name, values in of_question.items()},
        **{
            f"{name}{suffix}_trec_eval": _mean(values, kept)
            for name, values in in_trec_eval.items()
        },
    }


def _mean(values: NDArray[np.float64], kept: NDArray[np.bool_]) -> float:
    if not kept.any():
        raise UndefinedMetricError(
            f"none of the {len(kept)} questions passes the question filter: the mean over no "
            "question is undefined. Look at the relevance labels, or choose another filter."
        )
    return float(values[kept].mean())
