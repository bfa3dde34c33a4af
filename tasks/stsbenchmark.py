"""The STS Benchmark, under the metric of the paper that made it (SemEval-2017 Task 1)."""

from __future__ import annotations

from mteb.abstasks.task_metadata import TaskMetadata
from mteb_ext.tasks._semeval2017 import CITATION, DATASET, REFERENCE, REPOSITORY

from mteb_ext.bases import PaperSTS
from mteb_ext.data.readers import read_stsbenchmark
from mteb_ext.data.records import Pairs
from mteb_ext.data.sources import Source
from mteb_ext.protocol import CorrelationProtocol, PairFacts


class STSBenchmarkSemEval(PaperSTS):
    """5,749 pairs to train, 1,500 to develop and 1,379 to test; Pearson on test, also by genre.

    The 250 pairs of track 5 of SemEval-2017 are all in its dev and test parts.
    """

    metadata = TaskMetadata(
        name="STSBenchmarkSemEval",
        adapted_from=[
            "STSBenchmark",
            "STSBenchmarkMultilingualSTS",
            *(f"STS{year}" for year in range(12, 18)),
        ],
        description="The STS Benchmark: English pairs of SemEval 2012 to 2017, news, captions and "
        "forums.",
        reference=REFERENCE,
        dataset=DATASET,
        type="STS",
        category="t2t",
        eval_splits=["test"],
        eval_langs=["eng-Latn"],
        main_score="pearson",
        date=("2012-01-01", "2017-12-31"),
        domains=["News", "Scene", "Social", "Written"],
        task_subtypes=[],
        license="cc-by-sa-4.0",
        annotations_creators="human-annotated",
        dialect=[],
        sample_creation="found",
        bibtex_citation=CITATION,
    )
    protocol = CorrelationProtocol(
        headline="pearson",
        source="SemEval-2017 Task 1, section 8 and Tables 11, 13 and 14: Pearson on test",
        facts={
            "train": {
                "default": PairFacts(
                    5749, "63673cefca0ef3a7a769c4b27bde31174cb2949f3b9c88659796401013fde222"
                )
            },
            "dev": {
                "default": PairFacts(
                    1500, "f96eba5da25682ed5c81368e4477fcd01d4bdc1ccc5e8a1010d86d9156ac3061"
                )
            },
            "test": {
                "default": PairFacts(
                    1379, "b883d69ce5108f65e1ca42bcfa782dcc0c29547fbc395ce7b6439f1d621c01a7"
                )
            },
        },
    )

    @classmethod
    def read(cls, source: Source, split: str, subset: str) -> Pairs:
        """Read one split's file."""
        return read_stsbenchmark(source.file(REPOSITORY, f"stsbenchmark/sts-{split}.csv"))
