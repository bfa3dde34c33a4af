"""JACSTS: similarity of Japanese clinical sentences (arXiv 2503.09094)."""

from __future__ import annotations

from mteb.abstasks.task_metadata import TaskMetadata
from mteb_ext.tasks._papers import JAPANESE_STS_IR

from mteb_ext.bases import PaperSTS
from mteb_ext.data.readers import read_xls_pairs
from mteb_ext.data.records import Pairs
from mteb_ext.data.sources import Source
from mteb_ext.protocol import CorrelationProtocol, PairFacts

COMMIT = "a6673b86b52817f985f8d17cc07a2e7c83072909"
REPOSITORY = f"sociocom/Japanese-Clinical-STS/{COMMIT}"


class JACSTS(PaperSTS):
    """3,670 pairs with gold scores from 0 to 5, one split. The headline is Spearman's coefficient.

    All pairs count: the 29 repeated ones too, of which 27 have conflicting gold scores. The texts
    go to the model as they stand, with their full-width characters and edge white space.
    """

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
        date=("2020-01-01", "2021-12-31"),
        domains=["Medical", "Written"],
        task_subtypes=[],
        license="not specified",
        annotations_creators="expert-annotated",
        dialect=[],
        sample_creation="found",
        bibtex_citation=r"""
@article{mutinda2021semantic,
  author = {Mutinda, Faith Wavinya and Yada, Shuntaro and Wakamiya, Shoko and Aramaki, Eiji},
  journal = {Methods of Information in Medicine},
  title = {Semantic Textual Similarity in {J}apanese Clinical Domain Texts Using {BERT}},
  year = {2021},
}
"""
        + JAPANESE_STS_IR,
    )
    protocol = CorrelationProtocol(
        headline="spearman",
        source="arXiv 2503.09094: Spearman's rank correlation of cosine similarity and gold",
        facts={
            "test": {
                "default": PairFacts(
                    pairs=3670,
                    fingerprint="ffe6b2e29d6da6b498351c060f396feaf81781c8729e75a93156fcfda98442ab",
                )
            }
        },
    )

    @classmethod
    def read(cls, source: Source, split: str, subset: str) -> Pairs:
        """Read the spreadsheet."""
        return read_xls_pairs(source.file(REPOSITORY, "dataset_JA_Clinical_STS.xls"))
