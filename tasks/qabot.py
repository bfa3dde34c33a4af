"""QABot: questions to an educational help desk (arXiv 2503.09094). The data is not public."""

from __future__ import annotations

from mteb.abstasks.task_metadata import TaskMetadata

from mteb_ext import papers
from mteb_ext.bases import PaperRanking
from mteb_ext.data.readers import read_question_folders
from mteb_ext.data.records import Question
from mteb_ext.data.sources import Source
from mteb_ext.protocol import QuestionFacts, QuestionFilter, RankingProtocol

FINGERPRINT = "3dcaf28e5f7f15bb83eaaccaf714a260b91ddc982f914ca25be2dc24d3f09612"


class QABot(PaperRanking):
    """20 queries against a pool of 1,142 questions; 53 of 22,829 rows are relevant.

    The query is compared with the candidate question; the answers are never read. The authors
    withdrew the full set for ethical reasons, so this package does not fetch it: a user who has
    been given it puts it into the data folder.
    """

    paper = papers.SDJC
    withheld = "its authors withdrew it for ethical reasons"
    metadata = TaskMetadata(
        name="QABot",
        description="Retrieval of the questions of an educational help desk that ask the same.",
        reference="https://github.com/ccilab-doshisha/SDJC",
        dataset={"path": "ccilab-doshisha/SDJC", "revision": FINGERPRINT},
        type="Retrieval",
        category="t2t",
        eval_splits=["test"],
        eval_langs=["jpn-Jpan"],
        main_score="map",
        date=("2025-01-01", "2025-12-31"),  # publication year
        domains=["Academic", "Written"],
        task_subtypes=["Question answering"],
        license="not specified",
        annotations_creators="human-annotated",
        dialect=[],
        sample_creation="found",
        is_public=False,
        prompt="Retrieve questions that ask for the same thing.",
        bibtex_citation=papers.bibtex(papers.SDJC),
    )
    protocol = RankingProtocol(
        headline="map",
        source="arXiv 2503.09094: MAP, MRR and P@N over the 20 queries, full candidate lists",
        keep=QuestionFilter.ANSWERED,
        cutoffs=(1, 5),
        symmetric=True,
        facts={
            "test": QuestionFacts(
                questions=20,
                rows=22_829,
                relevant=53,
                kept=20,
                kept_rows=22_829,
                candidates=(1141, 1141, 1142, *[1141] * 9, *[1142] * 8),
                fingerprint=FINGERPRINT,
            )
        },
    )
    editions_differ = True

    @classmethod
    def read(cls, source: Source, split: str, subset: str) -> list[Question]:
        """Read the folders ``1`` to ``20``."""
        return read_question_folders(
            source.own(
                "qabot",
                f"Not public: ask its authors ({cls.metadata.reference}), and put its folders 1 to "
                "20 there.",
            )
        )
