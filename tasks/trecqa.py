"""TREC-QA: answer sentence selection in newswire, as TANDA evaluates it (arXiv 1911.04118)."""

from __future__ import annotations

from mteb.abstasks.task_metadata import TaskMetadata
from mteb_ext.tasks._papers import TANDA

from mteb_ext.bases import PaperRanking
from mteb_ext.data.readers import read_trecqa
from mteb_ext.data.records import Question
from mteb_ext.data.sources import Source
from mteb_ext.protocol import QuestionFacts, QuestionFilter, QuestionSet, RankingProtocol

COMMIT = "056cbbcbf997cc0b35032430110c5e5e5525700a"
REPOSITORY = f"castorini/data/{COMMIT}"
TRAIN_ALL = f"{REPOSITORY}/TrecQA/data/TRAIN-ALL.xml"


class TRECQA(PaperRanking):
    """68 test questions with at least one correct and one incorrect answer ("clean").

    The rule is another than WikiQA's. All 95 questions that have candidates are reported as
    ``map_raw``; in that average a question without a correct answer counts as 0.

    The training set of the paper (``train``, 1,229 questions, not filtered) is a file that the user
    has to bring; ``train-manual`` is its manually judged part.
    """

    metadata = TaskMetadata(
        name="TRECQA",
        description="Selection of the newswire sentences that answer a TREC question.",
        reference="https://aclanthology.org/D07-1003/",
        dataset={"path": "castorini/data", "revision": COMMIT},
        type="Reranking",
        category="t2t",
        eval_splits=["test"],
        eval_langs=["eng-Latn"],
        main_score="map",
        date=("1999-01-01", "2007-06-30"),
        domains=["News", "Written"],
        task_subtypes=["Question answering"],
        license="not specified",
        annotations_creators="human-annotated",
        dialect=[],
        sample_creation="found",
        prompt={"query": "Given a question, retrieve the sentences that answer it."},
        bibtex_citation=r"""
@inproceedings{wang-etal-2007-jeopardy,
  author = {Wang, Mengqiu and Smith, Noah A. and Mitamura, Teruko},
  booktitle = {Proceedings of the 2007 Joint Conference on Empirical Methods in Natural Language Processing and Computational Natural Language Learning (EMNLP-CoNLL)},
  pages = {22--32},
  title = {What is the {J}eopardy Model? A Quasi-Synchronous Grammar for {QA}},
  year = {2007},
}
"""
        + TANDA,
    )
    protocol = RankingProtocol(
        headline="map",
        source="arXiv 1911.04118: MAP and MRR over the entire candidate set of each question",
        keep=QuestionFilter.BOTH,
        also=QuestionSet("raw", QuestionFilter.WITH_CANDIDATES),
        unfiltered=frozenset({"train", "train-manual"}),
        facts={
            "train": QuestionFacts(questions=1229, rows=53_417, relevant=6403),
            "train-manual": QuestionFacts(
                questions=94,
                rows=4718,
                relevant=348,
                kept=93,
                kept_rows=4718,
                fingerprint="5e57675cf620348859dd141fad3fa023f75769e34835a388a71f5621fdcf1fb6",
            ),
            "dev": QuestionFacts(
                questions=82,
                rows=1148,
                relevant=222,
                kept=65,
                kept_rows=1117,
                fingerprint="5b54314696e9139e6617b32856653323f8962f48055f2a955ee8f68eb3ef9aca",
            ),
            "test": QuestionFacts(
                questions=100,
                rows=1517,
                relevant=284,
                kept=68,
                kept_rows=1442,
                fingerprint="3a71d1dc7b7c0acbba9316ff77bd4789ee580978a3d8c706c37676bf9d5f99f2",
            ),
        },
    )

    @classmethod
    def read(cls, source: Source, split: str, subset: str) -> list[Question]:
        """Read one split's file."""
        if split == "train":
            return read_trecqa(
                source.own(
                    TRAIN_ALL,
                    "TRAIN-ALL.xml is not fetched, since no checksum of it is known here. Take it "
                    f"from the folder TrecQA/data of {cls.metadata.dataset['path']} and put it "
                    "there; its counts are checked.",
                )
            )
        name = {"train-manual": "TRAIN", "dev": "DEV", "test": "TEST"}[split]
        return read_trecqa(source.file(REPOSITORY, f"TrecQA/data/{name}.xml"))
