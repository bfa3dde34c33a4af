"""PaperRanking: answer sentence selection and retrieval by a paper's protocol."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from datasets import Dataset
from mteb.abstasks.retrieval import AbsTaskRetrieval
from mteb.models import CrossEncoderProtocol, EncoderProtocol, SearchProtocol
from mteb.types import PromptType

from mteb_ext.bases.candidates import CandidateLists, RankedLists
from mteb_ext.bases.task import DEFAULT_SUBSET, PaperTask, column, errors_named, interval_scores
from mteb_ext.data.checks import fingerprint
from mteb_ext.data.records import Question
from mteb_ext.data.sources import Source
from mteb_ext.encoding import Call, Scorer, Texts
from mteb_ext.errors import ProtocolError
from mteb_ext.measures import Measure, RankingMetric, TieOrder, check_set_name
from mteb_ext.metrics import significance
from mteb_ext.protocol import QuestionFacts, QuestionFilter, RankingProtocol

if TYPE_CHECKING:
    from mteb.models import MTEBModels
    from mteb.timing import TimingStack
    from mteb.types import EncodeKwargs
    from numpy.typing import NDArray

_MTEB_METRICS: Sequence[RankingMetric] = (
    *("ndcg", "map", "recall", "precision", "mrr", "hit_rate"),
)
_WHOLE_LIST: Sequence[RankingMetric] = ("map", "mrr")
_REPORTED_ORDERS: Sequence[TieOrder] = ("expected", "trec_eval", "later_first")


class PaperRanking(PaperTask, AbsTaskRetrieval):
    """A ranking task: metrics per question over its full candidate list, then averaged.

    The scores are those of :meth:`measures`, and ``num_queries``; ``num_queries_with_ties``, the
    number of them in which the order of equal scores matters; ``ci95_low`` and ``ci95_high``, the
    95% interval of the main score. The protocol's second average adds ``num_queries_NAME``.
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
    def parts(cls, split: str, subset: str) -> list[str]:
        """The names of the question sets, but for the headline's."""
        return [name for name in cls.question_sets() if name]

    @classmethod
    def facts(cls, split: str, subset: str) -> QuestionFacts:
        """Give what the protocol says of the rows of a split."""
        return cls.protocol.facts[split]

    @classmethod
    def question_sets(cls) -> dict[str, QuestionFilter]:
        """The question sets that averages are over, by name; the headline's has none."""
        also = cls.protocol.also
        return {"": cls.protocol.keep, **({also.name: also.keep} if also else {})}

    @classmethod
    def measures(cls) -> list[Measure]:
        """What is reported, in the order of the result's keys.

        These are mteb's own keys, which end in ``_at_k``; precision at the protocol's cut-offs; MAP
        and MRR of each question set by three orders of equal scores; and the best and the worst
        MAP that an order can give.
        """
        return [
            *(Measure(metric, k) for metric in _MTEB_METRICS for k in cls.k_values),
            *(Measure("precision", n) for n in cls.protocol.cutoffs),
            *(
                Measure(metric, part=name, ties=ties)
                for name in cls.question_sets()
                for ties in _REPORTED_ORDERS
                for metric in _WHOLE_LIST
            ),
            Measure("map", ties="best"),
            Measure("map", ties="worst"),
        ]

    @classmethod
    def _check_definition(cls) -> None:
        super()._check_definition()
        if cls.protocol.also:
            check_set_name(cls.protocol.also.name)

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
            lists = _whole_lists(data_split)
            remarks: dict[str, str] = {}
            with timer("Scoring candidates", split=hf_split, subset=hf_subset):
                if isinstance(model, SearchProtocol) and not _has_vectors_or_pairs(model):
                    scores = _search(model, data_split, lists, call, encode_kwargs, num_proc)
                else:
                    scorer = Scorer(model, call, encode_kwargs, num_proc)  # type: ignore[arg-type]
                    remarks = scorer.remarks
                    self._remark(remarks, hf_subset)
                    scores = scorer.score_pairs(
                        *_sides(data_split, lists, symmetric=self.protocol.symmetric)
                    )
            if prediction_folder:
                self._save_task_predictions(
                    lists.by_id(scores), model, prediction_folder, hf_split, hf_subset
                )
            with timer("Computing metrics", split=hf_split, subset=hf_subset):
                return self._ranking_scores(scores, lists) | remarks

    def rescore(self, split: str, subset: str, predicted: Any) -> dict[str, float | str]:  # noqa: ANN401
        """See :meth:`PaperTask.rescore`."""
        lists = _whole_lists(self.dataset[subset][split])
        return self._ranking_scores(lists.flat(predicted), lists)

    def _ranking_scores(
        self, values: NDArray[np.float64], lists: CandidateLists
    ) -> dict[str, float | str]:
        ranked = RankedLists(lists, values, self.question_sets())
        main = Measure(self.protocol.headline)
        return {
            **{str(measure): ranked.mean(measure) for measure in self.measures()},
            **interval_scores("ci95", lambda: significance.mean_interval(ranked.values(main))),
            **{
                Measure("map", part=name).count_key: int(lists.kept_by(keep).sum())
                for name, keep in self.question_sets().items()
            },
            "num_queries_with_ties": int(ranked.tied(main).sum()),
        }


def _whole_lists(data_split: Mapping[str, Any]) -> CandidateLists:
    """The candidate lists of mteb's retrieval data; none of them has been cut.

    The order of the candidates is that of the relevance labels, which no model is handed.

    Raises:
        ProtocolError: If a question's candidates are not exactly the ones that have a label.
    """
    ranked, qrels = data_split["top_ranked"] or {}, data_split["relevant_docs"]
    labelled = {query: qrels.get(query, {}) for query in data_split["queries"]["id"][:]}
    for query, labels in labelled.items():
        _check_complete(query, ranked.get(query, ()), labels)
    return CandidateLists.of({query: list(labels) for query, labels in labelled.items()}, qrels)


def _sides(
    data_split: Mapping[str, Any], lists: CandidateLists, *, symmetric: bool
) -> tuple[Texts, Texts]:
    """The texts of all (question, candidate) pairs."""
    document_ids = data_split["corpus"]["id"][:]
    row_of = {document: row for row, document in enumerate(document_ids)}
    rows = np.array([row_of[candidate] for candidate in lists.names], dtype=np.intp)
    query_rows = np.repeat(np.arange(len(lists.query_ids)), np.diff(lists.offsets))

    def first_asker(document: int) -> str:
        """The first question that has a document among its candidates."""
        return lists.query_ids[int(query_rows[np.argmax(rows == document)])]

    return (
        Texts(
            column(data_split["queries"], "text"),
            query_rows,
            None if symmetric else PromptType.query,
            lambda i: f"question {lists.query_ids[i]}",
            lists.query_ids,
        ),
        Texts(
            column(data_split["corpus"], "text"),
            rows,
            None if symmetric else PromptType.document,
            lambda i: f"candidate {document_ids[i]} of question {first_asker(i)}",
            document_ids,
        ),
    )


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
    lists: CandidateLists,
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
        candidates, found = lists.names[start:end], results.get(query, {})
        _check_complete(query, [c for c in candidates if c in found], dict.fromkeys(candidates, 0))
        values += [float(found[candidate]) for candidate in candidates]
    array = np.array(values, dtype=np.float64)
    if not np.isfinite(array).all():
        bad = lists.names[int(np.argmin(np.isfinite(array)))]
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
