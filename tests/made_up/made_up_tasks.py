"""Tasks with protocols on made-up rows that are no samples, and an encoder: for verification."""

from __future__ import annotations

import numpy as np
from mteb.abstasks.task_metadata import TaskMetadata
from mteb.models.abs_encoder import AbsEncoder
from mteb.models.model_meta import ModelMeta

from mteb_ext.bases import PaperRanking, PaperSTS
from mteb_ext.data.records import Pairs, Question
from mteb_ext.protocol import (
    CorrelationProtocol,
    PairFacts,
    QuestionFacts,
    QuestionFilter,
    QuestionSet,
    RankingProtocol,
)

WORDS = ("red", "green", "ripe", "old", "apple", "pear", "map", "boat", "soup", "tea")


def _text(number, length):
    return " ".join(WORDS[(number * (i + 3) + i * i) % len(WORDS)] for i in range(length))


def _metadata(name, kind, main_score, languages):
    return TaskMetadata(
        name=name,
        description="Made-up rows.",
        reference="https://example.org/made-up",
        dataset={"path": "example/made-up", "revision": "made-up-1"},
        type=kind,
        category="t2t",
        eval_splits=["test"],
        eval_langs=languages,
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


class MadeUpPairs(PaperSTS):
    """Two subsets in test, one of them also in dev."""

    metadata = _metadata(
        "MadeUpPairs", "STS", "pearson", {"a": ["eng-Latn"], "b": ["eng-Latn", "deu-Latn"]}
    )
    protocol = CorrelationProtocol(
        headline="pearson",
        source="made up, section 1",
        facts={
            "dev": {"a": PairFacts(12)},
            "test": {"a": PairFacts(12), "b": PairFacts(12)},
        },
    )

    @classmethod
    def read(cls, source, split, subset):
        start = {"dev": 50, "test": 0}[split] + (20 if subset == "b" else 0)
        numbers = range(start, start + 12)
        first = [_text(n, 4) for n in numbers]
        second = [_text(n * 7 % 11 + n, 4) for n in numbers]
        return Pairs(first, second, [float(n * n % 6) for n in numbers])


class MadeUpQuestions(PaperRanking):
    """Six questions, of which one has no answer and one nothing else."""

    metadata = _metadata("MadeUpQuestions", "Reranking", "map", ["eng-Latn"])
    protocol = RankingProtocol(
        headline="map",
        source="made up, section 2",
        keep=QuestionFilter.ANSWERED,
        also=QuestionSet("both", QuestionFilter.BOTH),
        facts={"test": QuestionFacts(questions=6, rows=24, relevant=9)},
    )

    @classmethod
    def read(cls, source, split, subset):
        return [
            Question(
                f"q{n}",
                _text(n, 3),
                [f"q{n}/{i}" for i in range(4)],
                [_text(n * 5 + i * 3, 4) for i in range(4)],
                labels,
            )
            for n, labels in enumerate(
                ([0, 1, 0, 1], [1, 0, 0, 0], [0, 0, 0, 0], [1, 1, 1, 1], [0, 0, 0, 1], [0, 0, 1, 0])
            )
        ]


class Letters(AbsEncoder):
    """A text as the counts of its letters."""

    def __init__(self, *_, **__):
        self.mteb_model_meta = LETTERS

    def encode(self, inputs, **_):
        texts = [text for batch in inputs for text in batch["text"]]
        letters = "abcdefghijklmnopqrstuvwxyz"
        return np.array([[1.0 + text.count(letter) for letter in letters] for text in texts])


LETTERS = ModelMeta.create_empty(
    overwrites={
        "name": "made-up/letters",
        "revision": "1",
        "loader": Letters,
        "training_datasets": set(),
    }
)
