"""The STS Benchmark, under the metric of the paper that made it (SemEval-2017 Task 1)."""

from __future__ import annotations

from mteb.abstasks.task_metadata import TaskMetadata

from mteb_ext import papers
from mteb_ext.bases import PaperSTS
from mteb_ext.data.readers import read_stsbenchmark
from mteb_ext.data.records import Pairs
from mteb_ext.data.sources import Source
from mteb_ext.protocol import CorrelationProtocol, PairFacts
from mteb_ext.tasks._semeval2017 import DATASET, REPOSITORY


class STSBenchmarkSemEval(PaperSTS):
    """5,749 pairs to train, 1,500 to develop and 1,379 to test; Pearson on test, also by genre.

    The 250 pairs of track 5 of SemEval-2017 are all in its dev and test parts.
    """

    paper = papers.SEMEVAL2017
    withheld = (
        "its licence is that of the scores, and the texts of MSRpar and MSRvid are under terms that "
        "each user accepts; mteb has the same pairs, as STSBenchmark"
    )
    metadata = TaskMetadata(
        name="STSBenchmarkSemEval",
        adapted_from=[
            "STSBenchmark",
            "STSBenchmarkMultilingualSTS",
            *(f"STS{year}" for year in range(12, 18)),
        ],
        description="The STS Benchmark: English pairs of SemEval 2012 to 2017, news, captions and "
        "forums.",
        reference=papers.SEMEVAL2017.url,
        dataset=DATASET,
        type="STS",
        category="t2t",
        eval_splits=["test"],
        eval_langs=["eng-Latn"],
        main_score="pearson",
        date=("2012-01-01", "2017-12-31"),
        domains=["News", "Scene", "Social", "Written"],
        task_subtypes=[],
        license="cc-by-sa-4.0",  # the scores; LICENSE.txt beside the files lists the texts' own
        annotations_creators="human-annotated",
        dialect=[],
        sample_creation="found",
        bibtex_citation=papers.bibtex(papers.SEMEVAL2017),
    )
    protocol = CorrelationProtocol(
        headline="pearson",
        source="SemEval-2017 Task 1, section 8 and Tables 11, 13 and 14: Pearson on test",
        facts={
            "train": {
                "default": PairFacts(
                    5749,
                    "6e086befeaafdf1a23c857f420e58b273ba2ef98242758cb32705931d942e735",
                    genres={"news": 3299, "captions": 2000, "forums": 450},
                )
            },
            "dev": {
                "default": PairFacts(
                    1500,
                    "f45d72628c64c52ac0673994f43a64f07bd35ff15ce7896a4180690f5575ad77",
                    genres={"news": 500, "captions": 625, "forums": 375},
                )
            },
            "test": {
                "default": PairFacts(
                    1379,
                    "113e4fcd6e1cc1bff2403302e5a3f5de7c1f3b6c28c5e262698f7a51d44c3be4",
                    genres={"news": 500, "captions": 625, "forums": 254},
                )
            },
        },
    )

    @classmethod
    def read(cls, source: Source, split: str, subset: str) -> Pairs:
        """Read one split's file."""
        return read_stsbenchmark(source.file(REPOSITORY, f"stsbenchmark/sts-{split}.csv"))
