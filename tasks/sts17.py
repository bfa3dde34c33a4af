"""SemEval-2017 Task 1: multilingual and cross-lingual STS, all seven tracks."""

from __future__ import annotations

from mteb.abstasks.task_metadata import TaskMetadata

from mteb_ext import papers
from mteb_ext.bases import PaperSTS
from mteb_ext.data.readers import read_zipped_pairs
from mteb_ext.data.records import Pairs
from mteb_ext.data.sources import Source
from mteb_ext.protocol import CorrelationProtocol, PairFacts
from mteb_ext.tasks._semeval2017 import DATASET, REPOSITORY


def _read_track(source: Source, track: str) -> Pairs:
    return read_zipped_pairs(
        source.file(REPOSITORY, "sources/Sts2017.eval.v1.1.zip"),
        f"STS2017.eval.v1.1/STS.input.track{track}.txt",
        source.file(REPOSITORY, "sources/Sts2017.gs.zip"),
        f"STS2017.gs/STS.gs.track{track}.txt",
        first_only=track == "6.tr-en",
    )


class STS17SemEval(PaperSTS):
    """Tracks 1 to 5 with 250 pairs each, 4a and 4b counted singly: the shared task's Primary.

    mteb averages all subsets of a task, so the subsets are exactly the tracks of that average;
    track 6 is a task of its own.
    """

    paper = papers.SEMEVAL2017
    metadata = TaskMetadata(
        name="STS17SemEval",
        adapted_from=[
            "STS17",
            "STSBenchmark",
            "STSBenchmarkMultilingualSTS",
            "STSBenchmarkSemEval",
        ],
        description="SemEval-2017 Task 1, semantic textual similarity in Arabic, English and "
        "Spanish, tracks 1 to 5: captions, and in track 4b news with its machine translation.",
        reference=papers.SEMEVAL2017.url,
        dataset=DATASET,
        type="STS",
        category="t2t",
        eval_splits=["test"],
        eval_langs={
            "1-ar-ar": ["ara-Arab"],
            "2-ar-en": ["ara-Arab", "eng-Latn"],
            "3-es-es": ["spa-Latn"],
            "4a-es-en": ["spa-Latn", "eng-Latn"],
            "4b-es-en": ["spa-Latn", "eng-Latn"],
            "5-en-en": ["eng-Latn"],
        },
        main_score="pearson",
        date=("2014-01-01", "2017-01-31"),  # from the captions to the evaluation
        domains=["Web", "Scene", "News", "Written"],
        task_subtypes=[],
        license="cc-by-sa-4.0",
        annotations_creators="human-annotated",
        dialect=[],
        sample_creation="multiple",  # 5 found, 4b machine-translated, the others translated by people
        bibtex_citation=papers.bibtex(papers.SEMEVAL2017),
    )
    protocol = CorrelationProtocol(
        headline="pearson",
        source="SemEval-2017 Task 1, section 6.2: Pearson by track, averaged over tracks 1 to 5",
        facts={
            "test": {
                "1-ar-ar": PairFacts(
                    250, "b06a761424ff72c27139546527129f7927d8a212d4d6d58d53bff1d924050b14"
                ),
                "2-ar-en": PairFacts(
                    250, "7608858272d106d7b7cee35da6d2935f9f085582a21bc909f7f508de30536e07"
                ),
                "3-es-es": PairFacts(
                    250, "151da331a5d6e91ff7523fb502024e21b7b2d57c4efcde7a5f887b51e304d56d"
                ),
                "4a-es-en": PairFacts(
                    250, "6b0ceecb97810f46620770736f2b12ab3faf90307d7a3c92235d6b140f41d9e4"
                ),
                "4b-es-en": PairFacts(
                    250, "e3d78773928fee53260925c8fd94823964c9f18fd77eaa5fd08abdf315c8e77e"
                ),
                "5-en-en": PairFacts(
                    250, "0d2b962d8f58f97b9e1eff9580d848514cd520279944c3600d29d52568bec8b7"
                ),
            }
        },
    )

    @classmethod
    def read(cls, source: Source, split: str, subset: str) -> Pairs:
        """Read one track."""
        return _read_track(source, subset.replace("-", ".", 1))


class STS17SemEvalTurkish(PaperSTS):
    """Track 6, the surprise language: 250 Turkish-English pairs, outside the shared task's Primary.

    The published input has 500 lines; the gold scores belong to the first 250.
    """

    paper = papers.SEMEVAL2017
    metadata = TaskMetadata(
        name="STS17SemEvalTurkish",
        adapted_from=["STS17"],
        description="SemEval-2017 Task 1, semantic textual similarity of Turkish and English, "
        "track 6.",
        reference=papers.SEMEVAL2017.url,
        dataset=DATASET,
        type="STS",
        category="t2t",
        eval_splits=["test"],
        eval_langs=["tur-Latn", "eng-Latn"],
        main_score="pearson",
        date=("2014-01-01", "2017-01-31"),
        domains=["Web", "Scene", "Written"],
        task_subtypes=[],
        license="cc-by-sa-4.0",
        annotations_creators="human-annotated",
        dialect=[],
        sample_creation="human-translated",
        bibtex_citation=papers.bibtex(papers.SEMEVAL2017),
    )
    protocol = CorrelationProtocol(
        headline="pearson",
        source="SemEval-2017 Task 1, section 6.2 and Table 10: Pearson on track 6",
        facts={
            "test": {
                "default": PairFacts(
                    250, "0d6431ee4f10a914f835c5d315284a9b00a99740aba6e81378acec22eb328376"
                )
            }
        },
    )

    @classmethod
    def read(cls, source: Source, split: str, subset: str) -> Pairs:
        """Read the track."""
        return _read_track(source, "6.tr-en")
