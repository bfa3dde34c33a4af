"""The checks on what was read, whatever its source: form, counts, fingerprint."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import numpy as np
import pytest

from mteb_ext.data.checks import check_counts, check_fingerprint, check_records, fingerprint
from mteb_ext.data.records import Pairs, Question
from mteb_ext.errors import DataError
from mteb_ext.protocol import PairFacts, QuestionFacts, QuestionFilter

PAIRS = Pairs(["a", "b"], ["c", "d"], [0.5, 3])
QUESTIONS = [
    Question("1", "who", ["x", "y"], ["It is.", "It is not."], [1, 0]),
    Question("2", "what", ["x"], ["That."], [0]),
    Question("3", "when", [], [], []),
]


def test_records_in_order():
    check_records(PAIRS)
    check_records(replace(PAIRS, genre=["news", "news"], parts={"one": [True, False]}))
    check_records(replace(PAIRS, score=[np.float32(0.5), np.int64(3)]))
    check_records(QUESTIONS)  # candidate identifiers may repeat across questions
    check_records([replace(QUESTIONS[0], labels=[np.int64(1), np.int8(0)])])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sentence1": ["a"]}, "sentence1 has 1 values for 2 scores"),
        ({"sentence2": ["c", "d", "e"]}, "sentence2 has 3 values for 2 scores"),
        ({"genre": ["news"]}, "genre has 1 values for 2 scores"),
        ({"parts": {"one": [True]}}, "part one has 1 values for 2 scores"),
        ({"sentence1": ["a", None]}, "sentence1 of row 2 is of type NoneType, and no text"),
        ({"sentence2": [3.0, "d"]}, "sentence2 of row 1 is of type float, and no text"),
        ({"sentence2": ["c", "\ud800"]}, "sentence2 of row 2 holds half a surrogate pair"),
        ({"score": [0.5, float("nan")]}, "gold score of row 2 is nan, no finite number"),
        ({"score": [float("-inf"), 1.0]}, "gold score of row 1 is -inf, no finite number"),
        ({"score": ["1", 1.0]}, "gold score of row 1 is '1', no finite number"),
        ({"score": [], "sentence1": [], "sentence2": []}, "there are no rows"),
    ],
)
def test_pairs_out_of_order(change, message):
    with pytest.raises(DataError, match=message):
        check_records(replace(PAIRS, **change))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"id": "2"}, "the question identifier '2' occurs more than once"),
        ({"id": 1}, "question 1 or its identifier is of type int, and no text"),
        ({"text": None}, "question '1' or its identifier is of type NoneType"),
        ({"text": "\udfff"}, "question '1' or its identifier holds half a surrogate"),
        ({"candidate_ids": ["x", "x"]}, "question '1' has the candidate identifier 'x' more than"),
        (
            {"candidate_ids": ["x"]},
            "question '1' has 1, 2, 2 candidate identifiers, candidates and",
        ),
        ({"labels": [1]}, "question '1' has 2, 2, 1 candidate identifiers, candidates and"),
        ({"candidates": ["It is.", 7]}, "candidate 'y' of question '1' or its .* of type int"),
        ({"candidate_ids": ["x", 7]}, "candidate 7 of question '1' or its identifier is of type"),
        ({"labels": [1, 2]}, "label of candidate 'y' of question '1' is 2, neither 0 nor 1"),
        ({"labels": [True, 0]}, "label of candidate 'x' of question '1' is True, neither"),
        ({"labels": [1.0, 0]}, "label of candidate 'x' of question '1' is 1.0, neither"),
    ],
)
def test_questions_out_of_order(change, message):
    with pytest.raises(DataError, match=message):
        check_records([replace(QUESTIONS[0], **change), *QUESTIONS[1:]])


def test_no_questions_are_an_error():
    with pytest.raises(DataError, match="there are no rows"):
        check_records([])


def sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()


def test_the_canonical_form():
    assert fingerprint(PAIRS) == sha256('["a","c",0.5]\n["b","d",3.0]\n')
    assert fingerprint(replace(PAIRS, score=[0.5, np.int64(3)])) == fingerprint(PAIRS)
    with_genre = replace(PAIRS, genre=["news", "forums"], parts={"one": [True, False]})
    assert fingerprint(with_genre) == sha256('["a","c",0.5,"news"]\n["b","d",3.0,"forums"]\n')
    assert fingerprint(QUESTIONS[:2]) == sha256(
        '["1","who","It is.",1]\n["1","who","It is not.",0]\n["2","what","That.",0]\n'
    )


def test_another_content_is_an_error():
    check_fingerprint(PAIRS, fingerprint(PAIRS))
    check_fingerprint(PAIRS, None)
    other = replace(PAIRS, genre=["news", "news"])
    with pytest.raises(DataError, match="the counts are right, but the content differs"):
        check_fingerprint(other, fingerprint(PAIRS))


def test_counts_of_pairs_and_their_parts():
    parted = replace(PAIRS, parts={"one": [True, False]})
    check_counts(parted, PairFacts(2, "", {"one": 1}))
    with pytest.raises(DataError, match="expected pairs: 3, found: 2"):
        check_counts(PAIRS, PairFacts(3, ""))
    with pytest.raises(DataError, match=r"expected parts: \{'one': 2\}, found: \{'one': 1\}"):
        check_counts(parted, PairFacts(2, "", {"one": 2}))
    with pytest.raises(DataError, match=r"expected parts: \{'one': 1\}, found: \{\}"):
        check_counts(PAIRS, PairFacts(2, "", {"one": 1}))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"questions": 2}, "expected questions: 2, found: 3"),
        ({"rows": 4}, "expected rows: 4, found: 3"),
        ({"relevant": 2}, "expected relevant: 2, found: 1"),
        ({"kept": 2}, "expected kept: 2, found: 1"),
        ({"kept_rows": 3}, "expected kept rows: 3, found: 2"),
        ({"candidates": (2, 1)}, r"expected candidates: \(2, 1\), found: \(2, 1, 0\)"),
    ],
)
def test_counts_of_questions(wrong, message):
    facts = QuestionFacts(3, 3, 1, kept=1, kept_rows=2, candidates=(2, 1, 0))
    check_counts(QUESTIONS, facts, QuestionFilter.BOTH)
    with pytest.raises(DataError, match=message):
        check_counts(QUESTIONS, replace(facts, **wrong), QuestionFilter.BOTH)
