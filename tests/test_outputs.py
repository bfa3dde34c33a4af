"""Outputs made elsewhere: every format read, matched whole or refused, scored and kept."""

from __future__ import annotations

import gzip
import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import mteb
import numpy as np
import pandas as pd
import pytest
from made_up.made_up_tasks import MadeUpPairs, MadeUpQuestions
from scipy.stats import pearsonr

import mteb_ext
from mteb_ext.cli import main
from mteb_ext.errors import DataError
from mteb_ext.formats.stamp import SuppliedFile, read_stamp
from mteb_ext.metrics import significance
from mteb_ext.outputs import released
from mteb_ext.outputs.files import read_text
from mteb_ext.outputs.forms import FORMS, read_outputs
from mteb_ext.outputs.numbering import first_number
from mteb_ext.outputs.rows import Row, Text
from mteb_ext.outputs.scoring import score_outputs
from mteb_ext.plugin.lookup import paper_task
from mteb_ext.protocol import QuestionFacts
from mteb_ext.published.released import RELEASES

PAIRS, QUESTIONS, SEGMENTS = "MadeUpPairs", "MadeUpQuestions", "WMT17Metrics.sample"
IN_FILE_ORDER = (0.5 + 1 + 1 + 1 / 4 + 1 / 3) / 5
"""MAP of MadeUpQuestions where each list stands in the order of the file: by hand, from
0101, 1000, 1111, 0001 and 0010; the third question has no answer and does not count."""


@pytest.fixture(autouse=True, scope="module")
def made_up():
    """The made-up tasks, registered; intervals are cheap."""
    mteb.get_task("STS12")  # mteb has its tasks then
    tasks = vars(sys.modules["mteb.get_tasks"])["_TASKS_REGISTRY"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MTEB_EXT_OFFLINE", "1")
        for task in (MadeUpPairs, MadeUpQuestions):
            patch.setitem(tasks, task.metadata.name, task)
        patch.setattr(significance, "_DRAWS", 10_000)
        patch.setattr(significance, "_FEWEST", 200)
        yield


def read(content, name=None, split="test"):
    return read_outputs(Text("f.txt", content), split, name)


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def run_lines(query="q{q}", document="q{q}/{d}", queries=range(6), first=0):
    """A run of MadeUpQuestions that leaves each list in the order of the file."""
    return "".join(
        f"{query.format(q=q + first)} Q0 {document.format(q=q, d=d + first)} {d + 1} {-d} t\n"
        for q in queries
        for d in range(4)
    )


def scored(task, given, **options):
    return score_outputs(task, given, "made-up/system", **options)


def entries(task, given, **options):
    found = scored(task, given, **options).result.scores
    return {entry["hf_subset"]: entry for entry in found["test"]}


def map_of(given, **options):
    return entries(QUESTIONS, given, **options)["default"]["map"]


# --- formats -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "name", "kind", "row"),
    [
        ("q1 Q0 d1 1 -1.5e-3 tag\n", "trec", "candidates", Row(1, -0.0015, ("q1", "d1"))),
        ("1 0 0 0 0.0374061375409 0\n", "trec", "candidates", Row(1, 0.0374061375409, ("1", "0"))),
        ("0.5\n1\n", "scores", "rows", Row(1, 0.5)),
        ("  .5 \r\n1\r\n\r\n", "scores", "rows", Row(1, 0.5)),
        ("cs-en\t+2E1\n", "subset-scores", "rows", Row(1, 20.0, subset="cs-en")),
        ("score\n0.5\n", "table", "rows", Row(2, 0.5)),
        ("id,score\n7,0.5\n", "table", "ids", Row(2, 0.5, ("7",))),
        (
            'Query\tlabel\tDocument\tScore\nq 1\t1\t"d\t0.5\n',
            "table",
            "candidates",
            Row(2, 0.5, ("q 1", '"d')),
        ),
        ("qid;docno;score\nq;d;1\n", "table", "candidates", Row(2, 1.0, ("q", "d"))),
        (
            'sentence1,sentence2,score\n"a, ""b""\nc",d,1\n',
            "table",
            "rows",
            Row(3, 1.0, texts=('a, "b"\nc', "d")),
        ),
        (
            '{"query": 1, "document": "d", "score": 5e-1}\n',
            "jsonl",
            "candidates",
            Row(1, 0.5, ("1", "d")),
        ),
        (
            "M\tcs-en\tnewstest2017\tA.1+B.0\t007\t0.5\n",
            "seg-score",
            "segments",
            Row(1, 0.5, ("newstest2017", "A.1+B.0", "7"), "cs-en"),
        ),
        (
            "M\tcs-en\tt\tA\t1\t0.5\tnon-ensemble\tno\n",
            "seg-score",
            "segments",
            Row(1, 0.5, ("t", "A", "1"), "cs-en"),
        ),
        (
            '{"mteb_model_meta": {"model_name": "x"}, "s": {"test": {"cosine_scores": [1, 2]}}}',
            "mteb",
            "rows",
            Row(1, 1.0, subset="s"),
        ),
        (
            '{"mteb_model_meta": {}, "default": {"test": {"q": {"d": 0.5}}}}',
            "mteb",
            "candidates",
            Row(1, 0.5, ("q", "d"), "default"),
        ),
    ],
)
def test_each_format_is_found_and_read(content, name, kind, row):
    [found] = [form for form in FORMS.values() if form.fits(Text("f", content))][:1]
    outputs = read(content)
    assert (found.name, outputs.kind, outputs.rows[0]) == (name, kind, row)
    assert read(content, name) == outputs


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("nothing here\n", "of no format that is known here. Its first line is 'nothing here'"),
        ("q0,q0/1,0.5\n", "of no format"),
        ("0,5\n0,7\n", "of no format"),
        ("[0.5, 0.7]", "of no format"),
        ("0.5\n\n0.7\n", "f.txt, line 2: the line is empty"),
        ("0.5\nnan\n", "f.txt, line 2: 'nan' is not a finite number"),
        ("inf\n", "line 1: 'inf' is not a finite number"),
        ("0.5\n1e999\n", "line 2: '1e999' is not a finite number"),
        ("0.5\n1_0\n", "line 2: '1_0' is not a finite number"),
        ("0.5\n٣\n", "line 2: '٣' is not a finite number"),
        ("q Q0 d 1 0.5 t\nq Q0 d 2 0.5\n", "line 2: expected the six columns 'query Q0"),
        ("q Q0 d 1 NaN t\n", "line 1: 'NaN' is not a finite number"),
        ("a\t1\nb 2\n", "line 2: expected the two columns"),
        ("query,score\nq,1\n", "line 1: query and document belong together"),
        ("score,Score\n1,2\n", "line 1: two columns are a score"),
        ("id,score\n1,2,3\n", "line 2: 3 columns, and the header has 2"),
        ("id,score\n1,\n", "line 2: '' is not a finite number"),
        ("id,score\n", "has a header and no scores"),
        ('sentence1,sentence2,score\n"a,b,1\n', "is no readable CSV"),
        ('{"score": true}\n', "'True' is not a finite number"),
        ('{"score": NaN}\n', "'nan' is not a finite number"),
        ('{"score": 1}\n{"scores": 1}\n', "line 2: its keys are not those of the first line"),
        ('{"score": 1}\n[1]\n', "line 2: it holds no JSON object"),
        ('{"similarity": 1}\n', "line 1: no column is named score"),
        ("M\tcs-en\tt\tA\tx\t1\n", "line 1: expected the columns 'metric<TAB>pair"),
        ("M\tcs-en\tt\tA\t1\t1\nN\tcs-en\tt\tA\t1\t1\n", "scores of 2 metrics: M, N"),
        ('{"mteb_model_meta": {}, "s": {"dev": {}}}', "no predictions of test, but of dev"),
        (
            '{"mteb_model_meta": {}, "s": {"test": {"cosine_scores": [], "similarity_scores": 1}}}',
            "holds cosine_scores and similarity_scores",
        ),
        ('{"mteb_model_meta": {}, "s": {"test": {"cosine_scores": [NaN]}}}', "score 1: nan is no"),
        ('{"mteb_model_meta": {}, "s": {"test": {"q": 0.5, "r": "x"}}}', "score 2: 'x' is no"),
        ('{"mteb_model_meta": {}, "s": ', "is no readable prediction file"),
    ],
)
def test_what_no_format_is(content, message):
    with pytest.raises(DataError) as caught:
        read(content)
    assert message in str(caught.value)


def test_a_format_that_is_named(tmp_path):
    assert read("score\n1\n", "table").kind == "rows"
    with pytest.raises(DataError, match="line 1: 'score' is not a finite number"):
        read("score\n1\n", "scores")
    with pytest.raises(DataError, match=r"there is no format 'TREC'; .* Did you mean 'trec'"):
        read("1\n", "TREC")


def test_ranks_that_disagree_are_said():
    agreeing = "q Q0 a 1 0.9 t\nq Q0 b 2 0.1 t\n"
    assert read(agreeing).remarks == ()
    assert read(agreeing + "r Q0 a 0 0.1 t\nr Q0 b 0 0.9 t\n").remarks == ()  # ranks say nothing
    [remark] = read(agreeing + "r Q0 a 1 0.1 t\nr Q0 b 2 0.9 t\n").remarks
    assert remark.startswith("the ranks disagree with the scores in 1 of 2 queries.")


def test_columns_that_do_not_count_are_said():
    assert read("id,model,score\n1,m,1\n").remarks == ("columns that do not count: model.",)


# --- files ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("pack", [bytes, gzip.compress, lambda b: b"\xef\xbb\xbf" + b])
def test_files_as_text(tmp_path, pack):
    path = write(tmp_path / "f", pack("é 1\r\nb".encode()))
    assert read_text(path).lines == ["é 1", "b"]


def refused(path):
    with pytest.raises(DataError) as caught:
        read_text(path)
    return str(caught.value).removeprefix(str(path))


def test_files_that_are_not_read(tmp_path):
    assert refused(tmp_path) == " is a folder. Name the file with the scores."
    assert refused(tmp_path / "f") == (
        " cannot be read: No such file or directory. Name another file."
    )
    assert refused(write(tmp_path / "e", "")) == " is empty. Name the file with the scores."
    assert refused(write(tmp_path / "w", " \n")).startswith(" is empty")
    assert refused(write(tmp_path / "u", "1".encode("utf-16"))).startswith(" is UTF-16 text")
    assert "not a readable UTF-8 file" in refused(write(tmp_path / "l", "é".encode("latin-1")))
    assert "line 2: a NUL character" in refused(write(tmp_path / "n", "1\n\0"))
    assert "cannot be unpacked" in refused(write(tmp_path / "g", gzip.compress(b"1\n" * 99)[:-9]))
    os.mkfifo(tmp_path / "p")
    assert refused(tmp_path / "p").startswith(" is not a regular file.")


@pytest.mark.slow
def test_files_that_are_too_large(tmp_path):
    with (tmp_path / "s").open("wb") as file:
        file.truncate(2**30)  # sparse
    assert refused(tmp_path / "s").startswith(" has more than 64 MB, and no task")
    packed = write(tmp_path / "z", gzip.compress(bytes(2**26 + 1), 9))
    assert "more than 67108864 bytes" in refused(packed)


# --- rankings ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "options"),
    [
        (run_lines(), {}),
        (run_lines(document="{d}"), {}),  # the dataset's own, which repeat across questions
        (run_lines(queries=(0, 1, 3, 4, 5)), {}),  # what does not count may be left out
        (run_lines("{q}", "{d}"), {"ids": "positions"}),
        (run_lines("{q}", "{d}", first=1), {"ids": "positions"}),
        (run_lines("q{q}", "0{d}"), {"ids": "positions"}),
        ("".join(f"{-d}\n" for _ in range(6) for d in range(4)), {}),  # all rows of the file
        ("".join(f"{-d}\n" for _ in range(5) for d in range(4)), {}),  # those that count
        ("id,score\n" + "".join(f"q{q}/{d},{-d}\n" for q in range(6) for d in range(4)), {}),
        (
            "id,score\n" + "".join(f"{q * 4 + d + 1},{-d}\n" for q in range(6) for d in range(4)),
            {"ids": "positions"},
        ),
    ],
)
def test_rankings_by_names_positions_and_places(tmp_path, content, options):
    assert map_of(write(tmp_path / "f", content), **options) == pytest.approx(IN_FILE_ORDER)


def test_queries_that_count_may_be_numbered_alone(tmp_path):
    lines = [
        f"{number} Q0 {d} 0 {-d} t\n"
        for number, _ in enumerate((0, 1, 3, 4, 5), start=1)
        for d in range(4)
    ]
    given = write(tmp_path / "f", "".join(lines))
    assert map_of(given, ids="positions") == pytest.approx(IN_FILE_ORDER)


class Numbered(MadeUpQuestions):
    """The same questions, named 1 to 6; of the third no answer is known."""

    metadata = MadeUpQuestions.metadata.model_copy(update={"name": "Numbered"})

    @classmethod
    def read(cls, source, split, subset):
        rows = [replace(q, id=str(n)) for n, q in enumerate(super().read(source, split, subset), 1)]
        rows[4] = replace(
            rows[4],
            **{name: getattr(rows[4], name)[:3] for name in ("candidate_ids", "candidates")},
            labels=[0, 0, 1],
        )
        return rows

    protocol = replace(
        MadeUpQuestions.protocol,
        facts={"test": QuestionFacts(questions=6, rows=23, relevant=9)},
    )


def test_names_that_are_numbers_are_told_from_places(tmp_path, monkeypatch):
    """Of the questions 1, 2, 4, 5, 6 that count, 5 alone has three candidates."""
    tasks = vars(sys.modules["mteb.get_tasks"])["_TASKS_REGISTRY"]
    monkeypatch.setitem(tasks, "Numbered", Numbered)

    def given(*sizes, missing=0):
        lines = [
            f"{query} Q0 {d} 0 {-d} t\n"
            for query, size in enumerate(sizes, start=1)
            for d in range(size - missing)
        ]
        return write(tmp_path / "f", "".join(lines))

    expected = pytest.approx((0.5 + 1 + 1 + 1 / 3 + 1 / 3) / 5)
    for sizes in ((4, 4, 4, 4, 3, 4), (4, 4, 4, 3, 4)):  # by name, and by place among the five
        found = entries("Numbered", given(*sizes), ids="positions")
        assert found["default"]["map"] == expected
    cut = given(4, 4, 4, 3, 4, missing=1)
    assert "could mean their names in the dataset or their places" in refusal(
        "Numbered", cut, ids="positions", fill=True
    )


def refusal(task, given, **options):
    with pytest.raises(DataError) as caught:
        scored(task, given, **options)
    return str(caught.value)


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (run_lines(queries=range(1, 6)), {}, "4 candidates have no score (q0 q0/0, q0 q0/1, q0"),
        (
            run_lines(queries=range(5)).replace("q4/3", "q4/2"),
            {},
            "1 scores are of a candidate tha",
        ),
        (
            run_lines() + "q9 Q0 q9/0 1 1 t\n",
            {},
            "1 scores are of an unknown query or candidate (q9",
        ),
        (run_lines() + "q0 Q0 q0/4 1 1 t\n", {}, "(q0 q0/4 in line 25)"),
        (run_lines() + "q2 Q0 q2/4 1 1 t\n", {}, "(q2 q2/4 in line 25)"),
        (
            run_lines("{q}", "{d}"),
            {},
            "24 scores are of an unknown query or candidate (0 0 in line 1,",
        ),
        (run_lines("{q}", "{d}"), {}, "look like q0 and q0/0. For running numbers say --ids pos"),
        (
            run_lines("{q}", "{d}", first=2),
            {"ids": "positions"},
            "6 queries are neither the dataset's own names nor numbered without a gap. There",
        ),
        (run_lines("q{q}", "1"), {"ids": "positions"}, "could begin at 0 or at 1"),
        (run_lines("q{q}", "{d}", first=4), {"ids": "positions"}, "neither the dataset's own na"),
        (run_lines("q{q}", "q{q}/{d}"), {"ids": "positions"}, "24 scores are of an unknown query"),
        ("1\n" * 23, {}, "23 for the 20 candidates that count, of 24 in the data"),
        ("cs-en\t1\n", {}, "names subsets or segments, and MadeUpQuestions has neither"),
    ],
)
def test_rankings_that_are_refused(tmp_path, content, options, message):
    found = refusal(QUESTIONS, write(tmp_path / "f", content), **options)
    assert message in found
    assert found.startswith(str(tmp_path))
    assert found.endswith(".")


def test_of_many_faults_five_are_named(tmp_path):
    found = refusal(QUESTIONS, write(tmp_path / "f", run_lines(queries=[2])))
    assert (
        "20 candidates have no score (q0 q0/0, q0 q0/1, q0 q0/2, q0 q0/3, q1 q1/0 and 15 more)"
        in found
    )
    assert "say --missing lowest" in found


def test_a_cut_run(tmp_path):
    """Of q0, 0101, only the first relevant one is listed, first: 1 and 2/3 expected of the rest."""
    lines = run_lines(queries=(1, 3, 4, 5)) + "q0 Q0 q0/1 1 -5 t\n"
    given = write(tmp_path / "f", lines)
    found = scored(QUESTIONS, given, fill=True)
    [entry] = found.result.scores["test"]
    # The other relevant one stands second, third or fourth: (2/2 + 2/3 + 2/4) / 3.
    of_q0 = (1 + (2 / 2 + 2 / 3 + 2 / 4) / 3) / 2
    assert entry["map"] == pytest.approx((of_q0 + 1 + 1 + 1 / 4 + 1 / 3) / 5)
    assert entry["n_missing"] == 3
    assert "3 candidates had no score, and stand below all others." in found.remarks
    kept = found.predictions["default"]["q0"]
    assert max(kept["q0/0"], kept["q0/2"], kept["q0/3"]) < np.float32(-5)
    assert (
        "n_missing"
        not in entries(QUESTIONS, write(tmp_path / "g", run_lines()), fill=True)["default"]
    )


def test_below_every_number_there_is_none(tmp_path):
    given = write(tmp_path / "f", f"q0 Q0 q0/1 1 {np.finfo(np.float32).min} t\n")
    with np.errstate(over="ignore"):
        assert "no number below the lowest score" in refusal(QUESTIONS, given, fill=True)


@pytest.mark.parametrize(
    ("numbers", "first"),
    [
        ({4: [0, 1]}, 0),
        ({4: [1, 4]}, 1),
        ({4: [0, 4]}, None),
        ({4: [5]}, None),
        ({1: [1], 4: [1, 2]}, 1),
        ({1: [0], 4: [2]}, 0),
    ],
)
def test_where_numbers_begin(numbers, first):
    assert first_number(numbers) == first


# --- pairs ---------------------------------------------------------------------------------------


def gold(subset):
    return MadeUpPairs.read(None, "test", subset).score


VALUES = {"a": [float(n * n % 5) for n in range(12)], "b": [float(n * 3 % 7) for n in range(12)]}


def table(header, rows):
    return header + "\n" + "".join(",".join(map(str, row)) + "\n" for row in rows)


@pytest.mark.parametrize(
    "content",
    [
        "".join(f"{v}\n" for name in "ab" for v in VALUES[name]),
        "".join(f"{name}\t{v}\n" for name in "ba" for v in VALUES[name]),
        table("subset,score", [(s, v) for s in "ab" for v in VALUES[s]]),
        table("subset,id,score", [(s, n, v) for s in "ab" for n, v in enumerate(VALUES[s])][::-1]),
        table("subset,row,score", [(s, n, v) for s in "ab" for n, v in enumerate(VALUES[s], 1)]),
    ],
)
def test_pairs_of_all_subsets(tmp_path, content):
    found = entries(PAIRS, write(tmp_path / "f", content))
    for subset in "ab":
        r = pearsonr(VALUES[subset], gold(subset)).statistic
        assert found[subset]["pearson"] == pytest.approx(r)
        assert found[subset]["main_score"] == found[subset]["pearson"]
        assert "cosine_pearson" not in found[subset]
    assert "headline_ci95_low" in found["b"]
    assert "headline_ci95_low" not in found["a"]


def test_pairs_of_one_subset(tmp_path):
    given = write(tmp_path / "f", "".join(f"{v}\n" for v in VALUES["b"]))
    found = entries(PAIRS, given, subsets=["b"])
    assert list(found) == ["b"]
    assert "headline_ci95_low" not in found["b"]  # a part of the subsets has no headline
    both = [write(tmp_path / "a", "".join(f"{v}\n" for v in VALUES["a"])), given]
    assert list(entries(PAIRS, both, subsets=["a", "b"])) == ["a", "b"]
    assert "2 subsets are named for 1 files" in refusal(PAIRS, given, subsets=["a", "b"])
    assert "several files have scores of b" in refusal(PAIRS, [given, given], subsets=["b", "b"])


def test_pairs_with_their_sentences(tmp_path):
    pairs = MadeUpPairs.read(None, "test", "a")
    rows = [*zip(pairs.sentence1, pairs.sentence2, VALUES["a"], strict=True)]
    header = "sentence1,sentence2,score"
    right = write(tmp_path / "f", table(header, rows))
    assert entries(PAIRS, right, subsets=["a"])["a"]["pearson"] == pytest.approx(
        pearsonr(VALUES["a"], gold("a")).statistic
    )
    wrong = write(tmp_path / "g", table(header, rows[::-1]))
    assert "rows hold other sentences than the task has there (line 2" in refusal(
        PAIRS, wrong, subsets=["a"]
    )


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("1\n" * 12, {}, "12 scores, and does not say of which subset of MadeUpPairs: a 12, b 12"),
        ("1\n" * 11, {"subsets": ["a"]}, "11 for the 12 pairs of a"),
        ("1\n" * 13, {"subsets": ["a"]}, "13 for the 12 pairs of a"),
        (
            "a\t1\nc\t2\n",
            {},
            "1 scores are of a subset that the task does not have (c). It has a, b",
        ),
        ("a\t1\n", {"subsets": ["b"]}, "has no scores of b"),
        (table("id,score", [(n, n) for n in range(1, 12)]), {"subsets": ["a"]}, "could begin at 0"),
        (table("id,score", [(n, n) for n in range(11)]), {"subsets": ["a"]}, "no score (11 of a)"),
        (
            table("id,score", [(n, n) for n in [*range(12), 3]]),
            {"subsets": ["a"]},
            "1 pairs have two scores (3 in line 14)",
        ),
        (
            table("id,score", [(f"x{n}", n) for n in range(12)]),
            {"subsets": ["a"]},
            "12 identifiers are no running numbers of the 12 pairs of a ('x0' in line 2,",
        ),
        (run_lines(), {}, "scores the documents of queries, and MadeUpPairs has pairs"),
        ("1\n" * 12, {"subsets": ["a"], "fill": True}, "none may be without a score"),
        ("M\txx-yy\tt\tA\t1\t1\n", {}, "has no scores of a, b"),
        ("1\n" * 12, {"subsets": ["c"]}, "no subset 'c' in test; it has a, b"),
        ("1\n" * 12, {"subsets": ["a"], "split": "train"}, "no split 'train'; it has dev, test"),
    ],
)
def test_pairs_that_are_refused(tmp_path, content, options, message):
    assert message in refusal(PAIRS, write(tmp_path / "f", content), **options)


def test_scores_that_are_constant(tmp_path):
    given = write(tmp_path / "f", "1\n" * 12)
    with pytest.raises(mteb_ext.UndefinedMetricError, match=r"MadeUpPairs .*no correlation is def"):
        scored(PAIRS, given, subsets=["a"])


def test_prediction_files_keep_the_name_of_their_similarity(tmp_path):
    content = {
        "mteb_model_meta": {"model_name": "x/y", "revision": "1"},
        "mteb_ext": {"dataset_revision": "made-up-1"},
        "a": {"test": {"cosine_scores": VALUES["a"]}},
    }
    path = write(tmp_path / "p.json", json.dumps(content))
    found = scored(PAIRS, path)
    [entry] = found.result.scores["test"]
    assert entry["cosine_pearson"] == entry["pearson"]
    assert "the file names x/y as its model." in found.remarks
    content["mteb_ext"]["dataset_revision"] = "2"
    write(path, json.dumps(content))
    assert "on the dataset revision 2, and the data here is of made-up-1" in refusal(PAIRS, path)


# --- segments ------------------------------------------------------------------------------------


def segment_lines(system=lambda names: names[0], skip=()):
    task = paper_task(SEGMENTS)
    return "".join(
        f"M\t{pair}\t{s.test_set}\t{system(s.systems)}\t{s.number}\t{place}\n"
        for pair in task.subsets("test")
        for place, s in enumerate(task.segments(task.source, "test", pair))
        if (pair, place) not in skip
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", [lambda n: n[0], lambda n: n[-1], "+".join])
def test_segments_find_their_places(tmp_path, no_data, name):
    extra = "M\tcs-en\tnewstest2017\tnobody\t1\t9\nM\ten-ru\tnewstest2017\tA\t1\t9\n"
    found = scored(SEGMENTS, write(tmp_path / "f", segment_lines(name) + extra))
    for pair in paper_task(SEGMENTS).subsets("test"):
        scores = found.predictions[pair]["similarity_scores"]
        assert scores == list(map(float, range(len(scores))))
    assert (
        "1 scores of cs-en are of segments that nobody judged, and do not count." in found.remarks
    )
    assert "1 scores of other subsets do not count." in found.remarks


@pytest.mark.slow
def test_segments_that_are_refused(tmp_path, no_data):
    lacking = write(tmp_path / "f", segment_lines(skip={("cs-en", 0)}))
    assert "1 segments have no score (" in refusal(SEGMENTS, lacking)
    twice = write(tmp_path / "g", segment_lines() + segment_lines().split("\n")[0] + "\n")
    assert "1 segments have two scores (" in refusal(SEGMENTS, twice)
    dev = refusal(SEGMENTS, write(tmp_path / "h", segment_lines()), split="dev")
    assert "known by their places only" in dev


# --- Python --------------------------------------------------------------------------------------


@pytest.mark.slow
def test_outputs_in_python():
    by_query = {f"q{q}": {f"q{q}/{d}": -d for d in range(4)} for q in range(6)}
    frame = pd.DataFrame(
        [(q, d, s) for q, part in by_query.items() for d, s in part.items()],
        columns=["query", "document", "score"],
    )
    in_order = np.tile(-np.arange(4, dtype=np.float32), 6)
    for given in (by_query, frame, in_order, list(in_order)):
        result = mteb_ext.score(QUESTIONS, given, name="a/b")
        assert result.get_score() == pytest.approx(IN_FILE_ORDER)
    given = {name: np.array(VALUES[name]) for name in "ab"}
    both = [pearsonr(VALUES[name], gold(name)).statistic for name in "ab"]
    assert mteb_ext.score(PAIRS, given, name="a/b").get_score() == pytest.approx(np.mean(both))
    alone = mteb_ext.score(PAIRS, VALUES["a"], name="a/b", subset="a")
    assert alone.get_score() == pytest.approx(both[0])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (5, "of the type int"),
        ([0.5, float("nan")], "row 2: nan is no finite number"),
        ([0.5, "0.5"], "row 2: '0.5' is no finite number"),
        ({"q0": {"q0/0": None}}, "row 1: None is no finite number"),
        (pd.DataFrame({"query": ["q0"], "score": [1.0]}), "query and document belong together"),
    ],
)
def test_python_outputs_that_are_refused(given, message):
    assert message in refusal(QUESTIONS, given)


# --- what is left behind -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "revision"),
    [
        ("system", None),
        ("a/b/c", None),
        ("../b", None),
        ("a/..", None),
        ("a/b", "../1"),
        ("a/b", ""),
    ],
)
def test_names_that_are_none(name, revision):
    with pytest.raises(DataError, match="cannot"):
        score_outputs(QUESTIONS, [1.0] * 24, name, revision)


@pytest.mark.slow
def test_a_scored_system_is_one_like_any_other(tmp_path, capsys):
    given = write(tmp_path / "f.run", run_lines())
    out = tmp_path / "out"
    command = ["score", str(given), "-t", QUESTIONS, "--name", "a/b", "--output-folder", str(out)]
    assert main(command) == 0
    assert f"a/b MadeUpQuestions test: map {IN_FILE_ORDER:.6f}" in capsys.readouterr().out
    [stamp_path] = out.glob("results/a__b/*/MadeUpQuestions.stamp")
    stamp = read_stamp(stamp_path)
    [file] = stamp.supplied
    assert file.name == "f.run"
    assert stamp.model_revision == stamp_path.parent.name == file.sha256[:16]
    assert main(command) == 0  # the same again is no conflict

    frame = mteb_ext.load_results(out)
    [headline] = frame[frame["headline"]]["value"]
    assert headline == round(IN_FILE_ORDER, 6)
    report = mteb_ext.verify_results(out)
    assert list(report.verdicts.values()) == ["supplied"]
    assert [f for f in report.findings if f.level != "submission"] == []

    assert main([*command, "--revision", "1"]) == 0
    other = write(tmp_path / "g.run", run_lines(queries=(0, 1, 3, 4, 5)))
    command[1] = str(other)
    capsys.readouterr()
    assert main([*command, "--revision", "1"]) == 1
    assert "is a result of a/b, revision 1, of other outputs" in capsys.readouterr().err
    assert main(["verify", str(out)]) == 0
    shown = capsys.readouterr().out
    assert "0 verified, 2 supplied, 0 unverified, 0 failed." in shown
    assert "the scores follow from the supplied outputs" in shown


@pytest.mark.slow
def test_a_changed_score_is_found_and_cut_runs_are_verified(tmp_path):
    given = write(tmp_path / "f.run", run_lines(queries=(0, 1, 3, 4)))
    mteb_ext.score(QUESTIONS, given, name="a/b", missing="lowest", output_folder=tmp_path)
    report = mteb_ext.verify_results(tmp_path)
    assert list(report.verdicts.values()) == ["supplied"]
    [note] = [f for f in report.findings if f.level == "note"]
    assert (note.code, note.reason[:12]) == ("cut-outputs", "4 candidates")
    [path] = tmp_path.glob("results/*/*/MadeUpQuestions.json")
    content = json.loads(path.read_text())
    content["scores"]["test"][0]["map"] = content["scores"]["test"][0]["main_score"] = 0.9
    path.write_text(json.dumps(content))
    report = mteb_ext.verify_results(tmp_path)
    assert list(report.verdicts.values()) == ["failed"]
    [finding] = [f for f in report.findings if f.code == "changed-score"]
    assert "mteb-ext score f.run -t MadeUpQuestions --name a/b" in finding.remedy


def test_a_stamp_whose_files_are_damaged(tmp_path):
    given = write(tmp_path / "f.run", run_lines())
    mteb_ext.score(QUESTIONS, given, name="a/b", output_folder=tmp_path)
    [path] = tmp_path.glob("results/*/*/*.stamp")
    content = json.loads(path.read_text())
    for supplied in ([{"name": 1, "sha256": "a"}], [{"name": "a"}], ["a"], "a"):
        path.write_text(json.dumps({**content, "supplied": supplied}))
        with pytest.raises(DataError, match="supplied"):
            read_stamp(path)
    path.write_text(json.dumps({**content, "supplied": [{"name": "a", "sha256": "b"}]}))
    assert read_stamp(path).supplied == [SuppliedFile("a", "b")]


@pytest.mark.slow
def test_the_command_says_what_it_needs(tmp_path, capsys):
    given = str(write(tmp_path / "f.run", run_lines()))
    for words, message in (
        ([given, "-t", QUESTIONS], "say what to score"),
        (["-t", QUESTIONS, "--name", "a/b"], "say what to score"),
        ([given, "-t", "WikiQ", "--name", "a/b"], "Did you mean 'WikiQA'"),
        ([given, "-t", "STS12", "--name", "a/b"], "mteb's own task"),
        ([given, "-t", QUESTIONS, "--published"], "leave FILE and --name out"),
        (["-t", QUESTIONS, "--published"], "no released outputs of MadeUpQuestions"),
    ):
        assert main(["score", *words]) == 1
        assert message in capsys.readouterr().err


# --- published systems ---------------------------------------------------------------------------


def test_releases_are_pinned_and_their_figures_printed():
    from mteb_ext.data.sources import registry

    for release in RELEASES:
        assert f"{release.repository}/{release.path}" in registry()
        assert release.licence
    [cnn] = [release for release in RELEASES if release.system == "CNN"]
    entry = {
        "hf_subset": "default",
        "map_both_later_first": 0.61901,
        "mrr_both_later_first": 0.62814,
    }
    cnn.check([entry])
    with pytest.raises(DataError, match=r"map is 0\.6190 in print and comes out as 0\.619100"):
        cnn.check([entry | {"map_both_later_first": 0.6191}])


def test_a_release_whose_figure_does_not_come_out(monkeypatch, no_data, tmp_path):
    """The figures of WikiQA's CNN are not those of a run of a random system."""
    [cnn] = [release for release in RELEASES if release.system == "CNN"]
    questions, _ = paper_task("WikiQA.sample").load("test")
    run = "".join(
        f"{q.id} Q0 {name} 0 {-place} t\n"
        for q in questions
        for place, name in enumerate(q.candidate_ids)
    )
    path = write(tmp_path / "run", run)
    monkeypatch.setattr(released.UpstreamFiles, "file", lambda *_: path)
    monkeypatch.setattr(
        released,
        "score_outputs",
        lambda task, *a, ids, **o: score_outputs(f"{task}.sample", *a, **o),
    )
    with pytest.raises(DataError, match="are not those of the published figures"):
        list(released.score_released(cnn.task))


@pytest.mark.real_data
def test_the_wikiqa_papers_cnn(monkeypatch):
    """Its released run gives the printed figures: MAP .6190, MRR .6281 on the 237."""
    monkeypatch.undo()
    path = Path(os.environ["MTEB_EXT_DATA"]) / RELEASES[0].repository / RELEASES[0].path
    if not path.exists():
        pytest.skip("the released run is not in the data folder")
    [found] = released.score_released("WikiQA")
    [entry] = found.result.scores["test"]
    assert round(entry["map_both_later_first"], 4) == 0.6190
    assert round(entry["mrr_both_later_first"], 4) == 0.6281
    assert (round(entry["map"], 4), round(entry["mrr"], 4)) == (0.6284, 0.6373)


def test_an_endless_identifier_is_not_quoted_whole(tmp_path):
    path = tmp_path / "my.run"
    path.write_text(f"Q0 Q0 {'D' * 100_000} 1 0.5 x\n")
    with pytest.raises(DataError) as caught:
        mteb_ext.score("WikiQA.sample", path, name="a/b")
    assert len(str(caught.value)) < 2000
