"""JACSTS: similarity of Japanese clinical sentences (arXiv 2503.09094)."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from mteb.abstasks.task_metadata import TaskMetadata

from mteb_ext import papers
from mteb_ext.bases import PaperSTS
from mteb_ext.data.readers import read_scored_pairs, read_xls_pairs
from mteb_ext.data.records import Pairs
from mteb_ext.data.sources import Source
from mteb_ext.errors import DataError
from mteb_ext.protocol import CorrelationProtocol, PairFacts

COMMIT = "a6673b86b52817f985f8d17cc07a2e7c83072909"
REPOSITORY = f"sociocom/Japanese-Clinical-STS/{COMMIT}"
SCRIPT = (
    "ccilab-doshisha/SDJC/e78551b3f7aaa16c8e519b98361e38cfc5fd8980/SentEval/data/downstream/STS"
)


class JACSTS(PaperSTS):
    """3,670 pairs with gold scores from 0 to 5, one split. The headline is Spearman's coefficient.

    All pairs count: the 29 repeated ones too, of which 27 have conflicting gold scores. The texts
    go to the model as they stand, with their full-width characters and edge white space.

    The authors' own script reads 3,482 of the pairs. Its figure is reported as ``spearman_3482``.
    """

    paper = papers.SDJC
    ask_first = (
        "No licence is stated: the authors publish the file for everybody and ask for a citation. "
        "Ask them before you upload this folder, and put their answer into the card."
    )
    metadata = TaskMetadata(
        name="JACSTS",
        description="Semantic textual similarity of Japanese clinical sentences.",
        reference="https://github.com/sociocom/Japanese-Clinical-STS",
        dataset={"path": "sociocom/Japanese-Clinical-STS", "revision": COMMIT},
        type="STS",
        category="t2t",
        eval_splits=["test"],
        eval_langs=["jpn-Jpan"],
        main_score="spearman",
        date=("2021-01-01", "2021-12-31"),  # publication year
        domains=["Medical", "Written"],
        task_subtypes=[],
        license="not specified",
        annotations_creators="expert-annotated",
        dialect=[],
        sample_creation="found",
        bibtex_citation=papers.bibtex(papers.JACSTS, papers.SDJC),
    )
    protocol = CorrelationProtocol(
        headline="spearman",
        source="arXiv 2503.09094: Spearman's rank correlation of cosine similarity and gold",
        facts={
            "test": {
                "default": PairFacts(
                    pairs=3670,
                    fingerprint="ffe6b2e29d6da6b498351c060f396feaf81781c8729e75a93156fcfda98442ab",
                    parts={"3482": 3482},
                )
            }
        },
    )

    @classmethod
    def read(cls, source: Source, split: str, subset: str) -> Pairs:
        """Read the spreadsheet, and which of its pairs the authors' script reads."""
        pairs = read_xls_pairs(source.file(REPOSITORY, "dataset_JA_Clinical_STS.xls"))
        part = read_scored_pairs(source.file(SCRIPT, "JAC-STS/JAC-sts-test.csv"))
        return replace(pairs, parts={"3482": _membership(pairs, part)})


def _membership(pairs: Pairs, part: Pairs) -> list[bool]:
    """Whether each pair has a partner in the part: equal texts and gold score, one to one.

    White space at the edges of a text makes no difference: the script's file has none.

    Raises:
        DataError: If a pair of the part has no partner.
    """
    left = Counter(_keys(part))
    members = []
    for key in _keys(pairs):
        members.append(left[key] > 0)
        left[key] -= members[-1]
    for line, key in enumerate(_keys(part), start=1):
        if left[key] > 0:
            raise DataError(
                f"JAC-sts-test.csv, line {line}: the spreadsheet has no partner for this pair"
            )
    return members


def _keys(pairs: Pairs) -> list[tuple[str, str, float]]:
    rows = zip(pairs.sentence1, pairs.sentence2, pairs.score, strict=True)
    return [(first.strip(), second.strip(), score) for first, second, score in rows]
