"""Checks of parsed data: its form, its counts, and a fingerprint of its content.

They apply however the files reached the machine. A parser that drops rows cannot pass, and neither
can a file of another edition. The form is checked for samples and plugins' tasks too.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from numbers import Integral, Real

from mteb_ext.data.records import Pairs, Question
from mteb_ext.errors import DataError
from mteb_ext.protocol import PairFacts, QuestionFacts, QuestionFilter

_NEXT_STEP = (
    "The files are damaged or another edition: replace them. (Delete fetched files to fetch them "
    "again.)"
)


def check_records(content: Pairs | Sequence[Question]) -> None:
    """Check the form of parsed data: one value a row in every column, and valid values.

    Texts are strings, gold scores finite, relevance labels 0 or 1, question identifiers unique, and
    candidate identifiers unique within their question. (Two questions may share them.)

    Raises:
        DataError: If a value is not valid. The message names the row or question, and the value.
    """
    if not content:
        raise DataError("there are no rows.")
    if isinstance(content, Pairs):
        _check_pairs(content)
    else:
        _check_questions(content)


def _check_pairs(pairs: Pairs) -> None:
    columns: dict[str, Sequence[object]] = {
        "sentence1": pairs.sentence1,
        "sentence2": pairs.sentence2,
        **({"genre": pairs.genre} if pairs.genre else {}),
        **{f"part {name}": mask for name, mask in pairs.parts.items()},
    }
    for name, column in columns.items():
        if len(column) != len(pairs):
            raise DataError(f"{name} has {len(column)} values for {len(pairs)} scores.")
    for name in ("sentence1", "sentence2"):
        for row, text in enumerate(columns[name], start=1):
            if fault := _text_fault(text):
                raise DataError(f"{name} of row {row} {fault}.")
    for row, score in enumerate(pairs.score, start=1):
        if not isinstance(score, Real) or not math.isfinite(score):
            raise DataError(f"the gold score of row {row} is {score!r}, no finite number.")


def _check_questions(questions: Sequence[Question]) -> None:
    if repeated := _repeated([question.id for question in questions]):
        raise DataError(f"the question identifier {repeated!r} occurs more than once.")
    for question in questions:
        where = f"question {question.id!r}"
        columns = question.candidate_ids, question.candidates, question.labels
        if len({len(column) for column in columns}) != 1:
            lengths = ", ".join(str(len(column)) for column in columns)
            raise DataError(f"{where} has {lengths} candidate identifiers, candidates and labels.")
        if fault := _text_fault(question.id) or _text_fault(question.text):
            raise DataError(f"{where} or its identifier {fault}.")
        if repeated := _repeated(question.candidate_ids):
            raise DataError(f"{where} has the candidate identifier {repeated!r} more than once.")
        for name, candidate, label in zip(*columns, strict=True):
            if fault := _text_fault(name) or _text_fault(candidate):
                raise DataError(f"candidate {name!r} of {where} or its identifier {fault}.")
            if not isinstance(label, Integral) or isinstance(label, bool) or label not in {0, 1}:
                raise DataError(
                    f"the label of candidate {name!r} of {where} is {label!r}, neither 0 nor 1."
                )


def _text_fault(text: object) -> str | None:
    if not isinstance(text, str):
        return f"is of type {type(text).__name__}, and no text"
    try:
        text.encode()
    except UnicodeEncodeError:
        return "holds half a surrogate pair, which is no character"
    return None


def _repeated(names: Sequence[str]) -> str | None:
    """The first repeated name, or None."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def fingerprint(content: Pairs | Sequence[Question]) -> str:
    """The sha256 of the content in canonical form.

    Each row is one line of compact JSON in UTF-8, in file order. Pairs give
    ``[sentence1, sentence2, score]``, and the genre last where there are genres. Questions give
    ``[question id, question, candidate, label]``.
    """
    digest = hashlib.sha256()
    for row in _rows(content):
        digest.update(json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
    return digest.hexdigest()


def _rows(content: Pairs | Sequence[Question]) -> Iterable[Sequence[object]]:
    if isinstance(content, Pairs):
        columns = [content.sentence1, content.sentence2, map(float, content.score)]
        return zip(*columns, *([content.genre] if content.genre else []), strict=True)
    return (
        (question.id, question.text, candidate, int(label))
        for question in content
        for candidate, label in zip(question.candidates, question.labels, strict=True)
    )


def check_counts(
    content: Pairs | Sequence[Question],
    facts: PairFacts | QuestionFacts,
    keep: QuestionFilter = QuestionFilter.WITH_CANDIDATES,
) -> None:
    """Compare the counts of parsed data with the protocol's.

    Args:
        content: The parsed data.
        facts: The protocol's counts.
        keep: The headline's question filter; pairs have none.

    Raises:
        DataError: If a count differs.
    """
    for name, found in _counts(content, keep).items():
        expected = getattr(facts, name)
        if expected is not None and expected != found:
            raise DataError(
                f"expected {name.replace('_', ' ')}: {expected}, found: {found}. {_NEXT_STEP}"
            )


def check_fingerprint(content: Pairs | Sequence[Question], expected: str | None) -> None:
    """Compare the content's fingerprint with the protocol's. None skips the check.

    Raises:
        DataError: If it differs.
    """
    found = fingerprint(content) if expected else None
    if found != expected:
        raise DataError(
            f"the counts are right, but the content differs: expected fingerprint {expected}, "
            f"found {found}. {_NEXT_STEP}"
        )


def _counts(content: Pairs | Sequence[Question], keep: QuestionFilter) -> dict[str, object]:
    if isinstance(content, Pairs):
        parts = {name: sum(mask) for name, mask in content.parts.items()}
        return {"pairs": len(content), "parts": parts, "genres": dict(Counter(content.genre))}
    kept = [question for question in content if keep.keeps(question.labels)]
    return {
        "questions": len(content),
        "rows": sum(map(len, content)),
        "relevant": sum(sum(question.labels) for question in content),
        "kept": len(kept),
        "kept_rows": sum(map(len, kept)),
        "candidates": tuple(map(len, content)),
    }
