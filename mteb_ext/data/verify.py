"""Checks on what was read: counts, and a fingerprint of the content.

They hold whichever way the files came onto the machine: a parser that drops rows, or a file of
another edition, cannot pass.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence

from mteb_ext.data.records import Pairs, Question
from mteb_ext.errors import DataError
from mteb_ext.protocol import PairFacts, QuestionFacts, QuestionFilter

_NEXT_STEP = (
    "The files are damaged or another edition: replace them. (Those that were fetched are fetched "
    "again once they are deleted.)"
)


def fingerprint(content: Pairs | Sequence[Question]) -> str:
    """The sha256 of the content in canonical form.

    One line a row, in file order: ``[sentence1, sentence2, score]`` for pairs, ``[question id,
    question, candidate, label]`` for questions, as compact JSON in UTF-8.
    """
    digest = hashlib.sha256()
    for row in _rows(content):
        digest.update(json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
    return digest.hexdigest()


def _rows(content: Pairs | Sequence[Question]) -> Iterable[Sequence[object]]:
    if isinstance(content, Pairs):
        return zip(content.sentence1, content.sentence2, content.score, strict=True)
    return (
        (question.id, question.text, candidate, label)
        for question in content
        for candidate, label in zip(question.candidates, question.labels, strict=True)
    )


def check_counts(
    content: Pairs | Sequence[Question],
    facts: PairFacts | QuestionFacts,
    keep: QuestionFilter = QuestionFilter.WITH_CANDIDATES,
) -> None:
    """Compare the counts of what was read with what the protocol states.

    Args:
        content: What was read.
        facts: What the protocol states.
        keep: The headline's question filter; pairs have none.

    Raises:
        DataError: If a count differs.
    """
    for name, found in _counts(content, keep).items():
        expected = getattr(facts, name)
        if expected not in {None, found}:
            raise DataError(
                f"expected {name.replace('_', ' ')}: {expected}, found: {found}. {_NEXT_STEP}"
            )


def check_fingerprint(content: Pairs | Sequence[Question], expected: str | None) -> None:
    """Compare the content's fingerprint with the protocol's; None is not checked.

    Raises:
        DataError: If it differs.
    """
    found = fingerprint(content) if expected else None
    if found != expected:
        raise DataError(
            f"the counts are right and the content is not: expected fingerprint {expected}, found "
            f"{found}. {_NEXT_STEP}"
        )


def _counts(content: Pairs | Sequence[Question], keep: QuestionFilter) -> dict[str, object]:
    if isinstance(content, Pairs):
        return {"pairs": len(content)}
    kept = [question for question in content if keep.keeps(question.labels)]
    return {
        "questions": len(content),
        "rows": sum(map(len, content)),
        "relevant": sum(sum(question.labels) for question in content),
        "kept": len(kept),
        "kept_rows": sum(map(len, kept)),
        "candidates": tuple(map(len, content)),
    }
