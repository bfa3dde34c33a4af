"""Two tasks: one on a base of mteb_ext, one on a class of mteb's alone."""

from __future__ import annotations

from datasets import Dataset, DatasetDict
from mteb.abstasks.sts import AbsTaskSTS
from mteb.abstasks.task_metadata import TaskMetadata

from mteb_ext.bases import PaperSTS
from mteb_ext.data.records import Pairs
from mteb_ext.data.sources import Source
from mteb_ext.protocol import CorrelationProtocol, PairFacts


def _metadata(name: str, main_score: str) -> TaskMetadata:
    return TaskMetadata(
        name=name,
        description="Similarity of made-up sentences.",
        reference="https://example.org/cooking",
        dataset={"path": "example/cooking", "revision": "1"},
        type="STS",
        category="t2t",
        eval_splits=["test"],
        eval_langs=["eng-Latn"],
        main_score=main_score,
        date=("2026-01-01", "2026-01-31"),
        domains=["Written"],
        task_subtypes=[],
        license="cc0-1.0",
        annotations_creators="human-annotated",
        dialect=[],
        sample_creation="created",
        bibtex_citation="",
    )


class CookingSTS(PaperSTS):
    """By a protocol, with samples beside this module."""

    metadata = _metadata("CookingSTS", "spearman")
    protocol = CorrelationProtocol(
        headline="spearman",
        source="Example (2026), section 3",
        facts={
            "test": {
                "default": PairFacts(
                    pairs=4,
                    fingerprint="359c14f71c536c149644af0508e137bac26fe5726957ba9bf5c47e47808c6b10",
                )
            }
        },
    )

    @classmethod
    def read(cls, source: Source, split: str, subset: str) -> Pairs:
        """Read the pairs."""
        path = source.own(f"cooking_sts/{split}.tsv", "Ask the cook.")
        rows = [line.split("\t") for line in path.read_text("utf-8").splitlines()]
        return Pairs([r[0] for r in rows], [r[1] for r in rows], [float(r[2]) for r in rows])


class CookingPlainSTS(AbsTaskSTS):
    """As mteb has them, on data in memory."""

    metadata = _metadata("CookingPlainSTS", "cosine_spearman")
    min_score = 0
    max_score = 5

    def load_data(self, **_: object) -> None:
        """Make the data."""
        rows = {
            "sentence1": ["red apples", "green pears", "old maps"],
            "sentence2": ["red apples", "green boats", "cold soup"],
            "score": [5.0, 3.0, 0.0],
        }
        self.dataset = DatasetDict({"test": Dataset.from_dict(rows)})
        self.data_loaded = True
