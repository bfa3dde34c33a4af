"""The shapes of a dataset: sentence pairs, and questions with candidates; a translated segment."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Pairs:
    """Sentence pairs with a gold score, as parallel lists in file order.

    Attributes:
        sentence1: First texts, as they stand in the file.
        sentence2: Second texts, as they stand in the file.
        score: Gold scores on the dataset's own scale.
        genre: The pair's genre where the dataset has genres, else empty.
        parts: Named parts of the pairs, each reported by itself as ``spearman_NAME``: whether each
            pair belongs to the part.
    """

    sentence1: list[str]
    sentence2: list[str]
    score: list[float]
    genre: list[str] = field(default_factory=list)
    parts: dict[str, list[bool]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.score)


@dataclass(frozen=True, slots=True)
class Question:
    """One query with its whole candidate list, in file order.

    Attributes:
        id: The question's identifier, unique in its split.
        text: The question.
        candidate_ids: Identifiers of the candidates, unique within the question.
        candidates: The candidate texts, as they stand in the file.
        labels: Relevance labels, 0 or 1, one a candidate.
    """

    id: str
    text: str
    candidate_ids: list[str]
    candidates: list[str]
    labels: list[int]

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True, slots=True)
class Segment:
    """Which translation a row of machine translation data is about.

    Attributes:
        test_set: The test set: ``newstest2017``.
        systems: The systems with this output; their texts are identical.
        number: The segment's line in the files of the test set, counted from 1.
    """

    test_set: str
    systems: tuple[str, ...]
    number: int
