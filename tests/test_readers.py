"""Readers on hand-written files, with the traps of each format."""

from __future__ import annotations

import csv
import gzip
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from mteb_ext.data import readers
from mteb_ext.data.records import Segment
from mteb_ext.errors import DataError

SAMPLES = Path(readers.__file__).parent / "samples"


def write(path, text, encoding="utf-8"):
    path.write_bytes(text.encode(encoding))
    return path


WIKIQA_HEADER = "QuestionID\tQuestion\tDocumentID\tDocumentTitle\tSentenceID\tSentence\tLabel\n"


def test_wikiqa_takes_quotes_and_separators_as_text(tmp_path):
    file = write(
        tmp_path / "w.tsv",
        WIKIQA_HEADER
        + 'Q1\twhat is it\tD1\tIt\tD1-0\t"It is one.\t1\n'
        + "Q1\twhat is it\tD1\tIt\tD1-1\tIt is\u2028two.\xad\t0\n"
        + 'Q2\twho\tD1\tIt\tD1-0\tSay "who"\t0\n',
    )
    first, second = readers.read_wikiqa(file)
    assert (first.id, first.text) == ("Q1", "what is it")
    assert first.candidates == ['"It is one.', "It is\u2028two.\xad"]
    assert first.candidate_ids == ["Q1/D1-0", "Q1/D1-1"]
    assert first.labels == [1, 0]
    assert second.candidate_ids == ["Q2/D1-0"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("Q1\tq\tD1\tIt\tD1-0\tcut sho", "line 3: expected 7 columns, found 6"),
        ("Q1\tq\tD1\tIt\tD1-0\ts\t2\n", "line 3: the label is '2'"),
        ("Q1\tq\tD1\tIt\tD1-0\ts\t 1\n", "line 3: the label is ' 1'"),
        ("Q1\tQ\tD1\tIt\tD1-0\ts\t0\n", "line 3: Q1 stands for another question too"),
        ("\n", "line 3: expected 7 columns, found 1"),
    ],
)
def test_damaged_wikiqa(tmp_path, line, message):
    good = "Q1\tq\tD1\tIt\tD1-9\tsentence\t1\n"
    with pytest.raises(DataError, match=message) as caught:
        readers.read_wikiqa(write(tmp_path / "w.tsv", WIKIQA_HEADER + good + line))
    assert "w.tsv" in str(caught.value)


@pytest.mark.parametrize("header", ["", WIKIQA_HEADER.replace("Label", "Score")])
def test_a_wikiqa_header_is_read(tmp_path, header):
    file = write(tmp_path / "w.tsv", header + "Q1\tq\tD1\tIt\tD1-9\tsentence\t1\n")
    with pytest.raises(DataError, match=r"w\.tsv, line 1: expected the header"):
        readers.read_wikiqa(file)


def test_a_file_cut_after_its_header(tmp_path):
    with pytest.raises(DataError, match=r"w\.tsv has a header and no rows"):
        readers.read_wikiqa(write(tmp_path / "w.tsv", WIKIQA_HEADER))
    with pytest.raises(DataError, match=r"d\.csv has a header and no rows"):
        list(readers.read_da_rows(write(tmp_path / "d.csv", DA_HEADER)))
    make_query(tmp_path, "1", "How?\n", "question,answer,label\r\n")
    with pytest.raises(DataError, match=r"data\.csv has a header and no records"):
        readers.read_question_folders(tmp_path)


def question_line(question="Who ?", sentence="A <num>\u2028 b", label=1):
    return json.dumps(
        {"question": question, "candidates": [{"label": label, "sentence": sentence}]}
    )


def test_json_questions(tmp_path):
    lines = question_line() + "\n" + json.dumps({"candidates": [], "question": "Who ?"}) + "\n"
    first, second = readers.read_json_questions(write(tmp_path / "q.jsonl", lines))
    assert (first.id, first.text) == ("1", "Who ?")
    assert (first.candidates, first.labels) == (["A <num>\u2028 b"], [1])
    assert first.candidate_ids == ["1/0000"]
    assert (second.id, second.text, len(second)) == ("2", "Who ?", 0)
    zipped = tmp_path / "q.jsonl.gz"
    zipped.write_bytes(gzip.compress(lines.encode()))
    assert readers.read_json_questions(zipped) == [first, second]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "line 2 is not a question"),
        ('{"question": "Who ?"', "line 2 is not a question"),
        ("[" * 100_000, "line 2 is not a question"),
        ("[]", "line 2 is not a question"),
        ('{"question": "Who ?"}', "line 2 is not a question.*candidates"),
        ('{"question": "Who ?", "candidates": [{"sentence": "a"}]}', "line 2 is no.*label"),
        ('{"question": "a", "question": "b", "candidates": []}', "occurs twice"),
        (question_line(question=3), "line 2: a question or a sentence is not text"),
        (question_line(sentence=None), "line 2: a question or a sentence is not text"),
        (question_line(label=2), "line 2: a label is neither 0 nor 1"),
        (question_line(label=True), "line 2: a label is neither 0 nor 1"),
        (question_line(label="1"), "line 2: a label is neither 0 nor 1"),
        (question_line(label=[]), "line 2: a label is neither 0 nor 1"),
    ],
)
def test_damaged_json_questions(tmp_path, line, message):
    file = write(tmp_path / "q.jsonl", question_line() + "\n" + line + "\n")
    with pytest.raises(DataError, match=message):
        readers.read_json_questions(file)


def test_damaged_gzip_files(tmp_path):
    whole = gzip.compress((question_line() + "\n").encode())
    file = tmp_path / "q.jsonl.gz"
    for content in (whole[:-3], whole[:15], whole[:12] + b"\xff" + whole[13:], whole + b"x", b"no"):
        file.write_bytes(content)
        with pytest.raises(DataError, match=r"q\.jsonl\.gz is not a readable gzip file"):
            readers.read_json_questions(file)


def test_asnq(tmp_path):
    file = write(tmp_path / "a.tsv", 'who\tIt "is\u2028 A\t4\nwho\tNo\t1\nwhen\tThen\t2')
    assert list(readers.read_asnq(file)) == [
        ("who", 'It "is\u2028 A', 1),
        ("who", "No", 0),
        ("when", "Then", 0),
    ]
    for damage, message in (
        (b"who\tNo\n", "line 2: expected 3 columns, found 2"),
        (b"who\tNo\t5\n", "line 2: expected a label from 1 to 4"),
        (b"who\tN\0o\t1\n", "line 2: expected a label from 1 to 4"),
        (b"who\tNo\t1\r\n", "line 2 ends with a carriage return"),
        (b"who\tN\xff\t1\n", "after line .*utf-8"),
    ):
        file.write_bytes(b"who\tYes\t4\n" + damage)
        with pytest.raises(DataError, match=rf"a\.tsv, {message}"):
            list(readers.read_asnq(file))
    with pytest.raises(DataError, match=r"a\.tsv is empty"):
        list(readers.read_asnq(write(file, "")))
    with pytest.raises(DataError, match=r"none\.tsv"):
        list(readers.read_asnq(tmp_path / "none.tsv"))


TRECQA = """<QApairs id='1.1'>
<question>
Who\tsells\tR&D\t?
WP\tVBZ\tNN\t.
</question>
<positive>
A\tB\t&\tC\t<num>\tdo\t.
NN\tNN\tCC\tNN\tCD\tVB\t.
A\t
1\t
</positive>
<negative>
No\tone\t.
DT\tNN\t.
</negative>
</QApairs>
<QApairs id='1.2'>
<question>
Alone\t?
NN\t.
</question>
</QApairs>
"""


def test_trecqa(tmp_path):
    first, second = readers.read_trecqa(write(tmp_path / "t.xml", TRECQA))
    assert (first.id, first.text) == ("1.1", "Who sells R&D ?")
    assert first.candidates == ["A B & C <num> do .", "No one ."]
    assert first.labels == [1, 0]
    assert first.candidate_ids == ["1.1/0000", "1.1/0001"]
    assert (second.id, len(second)) == ("1.2", 0)


def test_trecqa_knows_no_entities(tmp_path):
    text = TRECQA.replace("R&D", "&lol;").replace("No\tone", "&#78;o\t&amp;")
    first, _ = readers.read_trecqa(write(tmp_path / "t.xml", text))
    assert first.text == "Who sells &lol; ?"
    assert first.candidates[1] == "&#78;o &amp; ."
    entity = '<!DOCTYPE x [<!ENTITY lol "lol">]>\n'
    with pytest.raises(DataError, match=r"t\.xml"):
        readers.read_trecqa(write(tmp_path / "t.xml", entity + TRECQA))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (TRECQA[: TRECQA.index("</QApairs>")], r"ends inside block 1\.1"),
        (TRECQA[: TRECQA.index("NN\tNN\tCC")], "ends inside <positive> of line 6"),
        ("<positive>\na\n</positive>\n", "line 1: '<positive>' stands outside a block"),
        ("<QApairs id='1'>\n</QApairs>\n", "line 2: a block ends without a question"),
        # A lost tag must not cost the block before, or a candidate.
        (TRECQA.replace("</QApairs>\n", "", 1), r"line 16: block 1\.1 is still open"),
        (TRECQA.replace("</positive>\n", ""), "line 11: <negative> inside <positive> of line 6"),
        (TRECQA.replace("<negative>\n", ""), r"line 12: 'No\\tone\\t\.' is not an element"),
        (TRECQA.replace("<QApairs id='1.2'>\n", ""), "line 17: '<question>' stands outside"),
        (TRECQA.replace("No\tone\t.\nDT\tNN\t.\n", ""), "line 13: </negative> inside"),
        (TRECQA.replace("negative>", "question>"), r"line 12: block 1\.1 has two questions"),
        (TRECQA.replace("<QApairs id='1.2'>", "<QApairs id=''>"), "line 17: .* outside a block"),
        (TRECQA + "\n", "line 23: '' stands outside a block"),
    ],
)
def test_damaged_trecqa(tmp_path, text, message):
    with pytest.raises(DataError, match=message):
        readers.read_trecqa(write(tmp_path / "t.xml", text))


def make_zip(path, members):
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return path


def test_zipped_pairs_with_more_pairs_than_gold(tmp_path):
    texts = make_zip(tmp_path / "t.zip", {"in.txt": '"One.\tUn "uno".\nTwo\tDos\nx\ty\n'})
    gold = make_zip(tmp_path / "g.zip", {"gs.txt": "4.200000\n3\n"})
    pairs = readers.read_zipped_pairs(texts, "in.txt", gold, "gs.txt", first_only=True)
    assert pairs.sentence1 == ['"One.', "Two"]
    assert pairs.sentence2 == ['Un "uno".', "Dos"]
    assert pairs.score == [4.2, 3.0]


def test_damaged_zipped_pairs(tmp_path):
    gold = make_zip(tmp_path / "g.zip", {"gs.txt": "1\n2\n", "bad.txt": "1\nx\n"})
    texts = make_zip(
        tmp_path / "t.zip",
        {
            "in.txt": "a\tb\nno tab\n",
            "short.txt": "a\tb\n",
            "two.txt": "a\tb\n" * 2,
            "three.txt": "a\tb\n" * 3,
        },
    )

    def read(texts_member="in.txt", gold_member="gs.txt", archive=texts):
        return readers.read_zipped_pairs(archive, texts_member, gold, gold_member)

    with pytest.raises(DataError, match="line 2: expected 2 columns"):
        read()
    with pytest.raises(DataError, match="has 1 pairs for 2 scores"):
        read("short.txt")
    with pytest.raises(DataError, match="has 3 pairs for 2 scores"):  # or is the gold cut short?
        read("three.txt")
    with pytest.raises(DataError, match=r"bad\.txt, line 2: 'x' is not a finite number"):
        read("two.txt", "bad.txt")
    with pytest.raises(DataError, match=r"cannot read none\.txt"):
        read("none.txt")
    truncated = tmp_path / "cut.zip"
    truncated.write_bytes(texts.read_bytes()[:-30])
    with pytest.raises(DataError, match=r"cut\.zip"):
        read(archive=truncated)


def test_zip_members_that_cannot_be_unpacked(tmp_path, monkeypatch):
    good = {"gs.txt": "1\n", "in.txt": "a\tb\n"}
    archive = make_zip(tmp_path / "z.zip", good)

    def read(content):
        archive.write_bytes(content)
        return readers.read_zipped_pairs(archive, "in.txt", archive, "gs.txt")

    with zipfile.ZipFile(tmp_path / "d.zip", "w", zipfile.ZIP_DEFLATED) as file:
        for name, text in good.items():
            file.writestr(name, text * 20)
    deflated = (tmp_path / "d.zip").read_bytes()
    assert len(read(deflated)) == 20
    start = 30 + len("gs.txt")
    with pytest.raises(DataError, match=r"cannot read gs\.txt"):  # zlib's own error
        read(deflated[:start] + b"\xff" * 4 + deflated[start + 4 :])
    encrypted = deflated.replace(
        b"PK\x01\x02\x14\x03\x14\x00\x00", b"PK\x01\x02\x14\x03\x14\x00\x01"
    )
    assert encrypted != deflated
    with pytest.raises(DataError, match=r"cannot read .*encrypted"):
        read(encrypted)
    for method in (zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2):
        with zipfile.ZipFile(archive, "w", method) as file:
            for name, text in good.items():
                file.writestr(name, text)
        with pytest.raises(DataError, match="compressed in an unusual way"):
            read(archive.read_bytes())
    monkeypatch.setattr(readers, "UNPACKED_LIMIT", 79)
    with pytest.raises(DataError, match=r"in\.txt unpacks to more than 79 bytes"):
        read(deflated)


def test_a_gzip_bomb_stops_at_the_limit(tmp_path, monkeypatch):
    file = tmp_path / "q.jsonl.gz"
    file.write_bytes(gzip.compress(b" " * 10_000))
    monkeypatch.setattr(readers, "UNPACKED_LIMIT", 9_999)
    with pytest.raises(DataError, match="unpacks to more than 9999 bytes"):
        readers.read_json_questions(file)


def test_stsbenchmark(tmp_path):
    file = write(
        tmp_path / "s.csv",
        'main-news\tMSRpar\t2012\t0001\t5.000\t"One said.\tOne said "so".\n'
        "main-forum\tdeft\t2014\t0002\t3.2\tTwo\tDos\tsource1\tsource2\n"
        "main-forums\tans\t2016\t0003\t0\tThree\tTres\n"
        "main-captions\timages\t2014\t0004\t1\tFour\tCuatro\n",
    )
    pairs = readers.read_stsbenchmark(file)
    assert pairs.score == [5.0, 3.2, 0.0, 1.0]
    assert pairs.sentence1[0] == '"One said.'
    assert pairs.sentence2 == ['One said "so".', "Dos", "Tres", "Cuatro"]
    assert pairs.genre == ["news", "forums", "forums", "captions"]
    with pytest.raises(DataError, match="line 1: expected 7 or 9 columns, found 6"):
        readers.read_stsbenchmark(write(file, "main-news\tM\t2012\t0001\t5.000\tOne\n"))
    with pytest.raises(DataError, match="line 1: expected 7 or 9 columns, found 8"):
        readers.read_stsbenchmark(write(file, "main-news\tM\t2012\t1\t5.0\tOne\tTwo\tThree\n"))
    with pytest.raises(DataError, match="the genre is 'main-poems'"):
        readers.read_stsbenchmark(write(file, "main-poems\tM\t2012\t0001\t5.000\tOne\tTwo\n"))


DA_HEADER = "LP DATA SYSTEM SID HUMAN\n"


def test_direct_assessments(tmp_path):
    file = write(
        tmp_path / "DA.csv",
        DA_HEADER + "cs-en newstest2017 A.1+B.0 12 -0.5\nen-ru newstest2017 C.2 3 -9.5e-05\n",
    )
    assert list(readers.read_da_rows(file)) == [
        ("cs-en", Segment("newstest2017", ("A.1", "B.0"), 12), -0.5),
        ("en-ru", Segment("newstest2017", ("C.2",), 3), -9.5e-05),
    ]
    with pytest.raises(DataError, match="line 2: expected LP DATA SYSTEM SID HUMAN"):
        list(readers.read_da_rows(write(file, DA_HEADER + "cs-en newstest2017 A.1 -0.5\n")))
    with pytest.raises(DataError, match="line 2: expected LP DATA SYSTEM SID HUMAN"):
        list(readers.read_da_rows(write(file, DA_HEADER + "cs-en newstest2017 A.1 ² -0.5\n")))
    with pytest.raises(DataError, match="line 1: expected the header 'LP DATA SYSTEM SID HUMAN'"):
        list(readers.read_da_rows(write(file, "cs-en newstest2017 A.1 12 -0.5\n")))


def test_scored_pairs(tmp_path):
    file = write(tmp_path / "p.csv", '5\t"One\tOne\n0.5\tTwo\u2028\tDos\n')
    pairs = readers.read_scored_pairs(file)
    assert (pairs.sentence1, pairs.sentence2) == (['"One', "Two\u2028"], ["One", "Dos"])
    assert pairs.score == [5.0, 0.5]
    with pytest.raises(DataError, match="line 1: expected 3 columns, found 2"):
        readers.read_scored_pairs(write(file, "5\tOne\n"))
    with pytest.raises(DataError, match="line 2: 'x' is not a finite number"):
        readers.read_scored_pairs(write(file, "5\ta\tb\nx\ta\tb\n"))


def test_text_lines_end_at_newlines_only_and_have_no_byte_order_mark(tmp_path):
    file = write(tmp_path / "t.txt", "\ufeffone\u2028still\rone \n\ntwo\x85\n")
    assert readers.read_text_lines(file) == ["one\u2028still\rone ", "", "two\x85"]
    assert readers.read_text_lines(write(file, "no newline at the end")) == [
        "no newline at the end"
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"\xef\xbb\xbf", "is empty"),
        ("Übung".encode("latin-1"), "not a readable UTF-8 file"),
        ("one".encode("utf-16"), "not a readable UTF-8 file"),
        (b"one\ntwo\r\n", "line 2 ends with a carriage return"),
        (b"one\nt\0wo\n", "line 2: a NUL character"),
        (b"\n <!DOCTYPE html>\n<p>404</p>\n", "is a web page"),
        (b"<html lang='en'>\n", "is a web page"),
    ],
)
def test_files_that_are_no_text(tmp_path, content, message):
    file = tmp_path / "t.txt"
    file.write_bytes(content)
    with pytest.raises(DataError, match=rf"t\.txt.* {message}|t\.txt, {message}"):
        readers.read_text_lines(file)


def test_a_file_that_is_not_there_or_is_a_folder(tmp_path):
    for path in (tmp_path / "none.txt", tmp_path):
        with pytest.raises(DataError, match="cannot be read"):
            readers.read_text_lines(path)


@pytest.mark.parametrize("web_page", [b"<!doctype html><title>404</title>", b"<HTML>"])
@pytest.mark.parametrize(
    "read",
    [
        readers.read_wikiqa,
        readers.read_trecqa,
        readers.read_json_questions,
        readers.read_stsbenchmark,
        readers.read_xls_pairs,
        readers.read_number_lines,
        lambda path: readers.read_zipped_pairs(path, "a", path, "b"),
        lambda path: list(readers.read_da_rows(path)),
    ],
)
def test_a_web_page_in_place_of_a_file(tmp_path, read, web_page):
    file = tmp_path / "f"
    file.write_bytes(web_page)
    with pytest.raises(DataError, match="is a web page, not the data file"):
        read(file)


def test_numbers(tmp_path):
    file = write(tmp_path / "n.txt", "4.2\n-9.5e-05\n+.5\n3.\n0\n1E2\n")
    assert readers.read_number_lines(file) == [4.2, -9.5e-05, 0.5, 3.0, 0.0, 100.0]


@pytest.mark.parametrize(
    "text", ["nan", "inf", "-Infinity", "1e999", "1_0", " 1", "1 ", "\uff11", "", "0x1", "1,5", "."]
)
def test_what_is_no_finite_number(tmp_path, text):
    with pytest.raises(DataError, match=r"n\.txt, line 2: .* is not a finite number"):
        readers.read_number_lines(write(tmp_path / "n.txt", f"1\n{text}\n2\n"))


def make_query(folder, name, question, data):
    place = folder / name
    place.mkdir(parents=True)
    write(place / "question.txt", question)
    write(place / "data.csv", data, "utf-8-sig")


def test_question_folders(tmp_path):
    header = "question,answer,label\r\n"
    make_query(tmp_path, "1", "How?\n", header + '"a\nb",Person Name,1\r\nc,x,0\r\n"a\nb",y,0\r\n')
    make_query(tmp_path, "10", " Ten \n", header + 'c,"no, one",1\r\n\r\n')
    make_query(tmp_path, "2", "\ufeffTwo", header + '"say ""c""",z,1\r\n')
    (tmp_path / "notes").mkdir()
    one, two, ten = readers.read_question_folders(tmp_path)
    assert [q.id for q in (one, two, ten)] == ["1", "2", "10"]
    assert [q.text for q in (one, two, ten)] == ["How?", "Two", "Ten"]
    assert one.candidates == ["a\nb", "c", "a\nb"]
    assert one.labels == [1, 0, 0]
    assert len(set(one.candidate_ids)) == 3
    assert ten.candidate_ids == [one.candidate_ids[1]]
    assert two.candidates == ['say "c"']


def test_a_very_long_answer_is_no_obstacle(tmp_path):
    limit = csv.field_size_limit()
    make_query(tmp_path, "1", "How?\n", f"question,answer,label\r\na,{'x' * 200_000},1\r\n")
    (question,) = readers.read_question_folders(tmp_path)
    assert question.candidates == ["a"]
    assert csv.field_size_limit() == limit


def test_damaged_question_folders(tmp_path):
    with pytest.raises(DataError, match="holds no folders 1, 2"):
        readers.read_question_folders(tmp_path)
    make_query(tmp_path / "cut", "1", "How?\n", 'question,answer,label\r\n"never closed,b,1\r\n')
    with pytest.raises(DataError, match="not a readable CSV file: unexpected end of data"):
        readers.read_question_folders(tmp_path / "cut")
    # A stray quotation mark would make one cell of many rows.
    make_query(
        tmp_path / "stray", "1", "How?\n", 'question,answer,label\r\n"a,b,1\r\nc"d,e,0\r\nf,g,0\r\n'
    )
    with pytest.raises(DataError, match=r"not a readable CSV file: .* expected after"):
        readers.read_question_folders(tmp_path / "stray")
    make_query(tmp_path, "1", "How?\n", "question,answer\r\na,b\r\n")
    with pytest.raises(DataError, match="does not name the columns question and label"):
        readers.read_question_folders(tmp_path)
    write(tmp_path / "1" / "data.csv", "question,answer,label\na,b,Person Name\n")
    with pytest.raises(DataError, match="record 1: the label is neither 0 nor 1") as caught:
        readers.read_question_folders(tmp_path)
    assert "Person" not in str(caught.value)
    write(tmp_path / "1" / "data.csv", "question,Person Name,1\na,b,1\n")
    with pytest.raises(DataError) as caught:
        readers.read_question_folders(tmp_path)
    assert "Person" not in str(caught.value)
    with pytest.raises(DataError, match="not a folder"):
        readers.read_question_folders(tmp_path / "1" / "data.csv")
    write(tmp_path / "1" / "data.csv", "question,answer,label\na,b\n")
    with pytest.raises(DataError, match="record 1: expected 3 fields, found 2"):
        readers.read_question_folders(tmp_path)
    write(tmp_path / "1" / "data.csv", "question,answer,label\na,b,1,Person Name\n")
    with pytest.raises(DataError, match="record 1: expected 3 fields, found 4"):
        readers.read_question_folders(tmp_path)
    write(tmp_path / "1" / "data.csv", "question,label,answer,label\na,1,b,0\n")
    with pytest.raises(DataError, match="does not name the columns question and label, once each"):
        readers.read_question_folders(tmp_path)
    write(tmp_path / "1" / "data.csv", "question,answer,label\na\0,b,1\n")
    with pytest.raises(DataError, match=r"data\.csv, line 2: a NUL character"):
        readers.read_question_folders(tmp_path)
    write(tmp_path / "1" / "data.csv", "question,answer,label\na,b,1\n")
    write(tmp_path / "1" / "question.txt", " \n")
    with pytest.raises(DataError, match=r"question\.txt holds no question"):
        readers.read_question_folders(tmp_path)
    (tmp_path / "1" / "question.txt").unlink()
    with pytest.raises(DataError, match=r"question\.txt"):
        readers.read_question_folders(tmp_path)


def test_xls_pairs_as_they_stand():
    pairs = readers.read_xls_pairs(SAMPLES / "dataset_JA_Clinical_STS.xls")
    assert len(pairs) == 30
    assert {0.0, 1.0, 2.0, 3.0, 4.0, 5.0} == set(pairs.score)
    assert any(text != text.strip() for text in pairs.sentence1 + pairs.sentence2)


def test_damaged_xls(tmp_path):
    whole = (SAMPLES / "dataset_JA_Clinical_STS.xls").read_bytes()
    with zipfile.ZipFile(tmp_path / "new.xlsx", "w") as file:
        file.writestr("xl/workbook.xml", "<workbook/>")
    newer = (tmp_path / "new.xlsx").read_bytes()
    for content in (whole[: len(whole) // 2], whole[:-600], newer, b"", b"not a spreadsheet"):
        file = tmp_path / "d.xls"
        file.write_bytes(content)
        with pytest.raises(DataError, match=r"d\.xls"):
            readers.read_xls_pairs(file)


def test_an_xls_that_names_more_rows_than_it_holds(tmp_path):
    whole = (SAMPLES / "dataset_JA_Clinical_STS.xls").read_bytes()
    thirty = b"\x00\x02\x0e\x00" + (0).to_bytes(4, "little") + (30).to_bytes(4, "little")
    assert whole.count(thirty) == 1  # the record DIMENSIONS
    file = tmp_path / "d.xls"
    file.write_bytes(whole.replace(thirty, thirty[:-4] + (31).to_bytes(4, "little")))
    with pytest.raises(DataError, match=r"d\.xls is damaged: .*DIMENSIONS R,C = 31,3 should be 30"):
        readers.read_xls_pairs(file)


def write_sheets(path, *sheets):
    xlwt = pytest.importorskip("xlwt")
    book = xlwt.Workbook()
    for name, rows in enumerate(sheets):
        sheet = book.add_sheet(str(name))
        for i, row in enumerate(rows):
            for j, cell in enumerate(row):
                sheet.write(i, j, cell)
    book.save(str(path))
    return path


@pytest.mark.parametrize(
    ("sheets", "message"),
    [
        ([[("a", "b", 1.0), ("a", "b")]], "row 2: expected two texts and a score"),
        ([[("a", "b", 1.0), ("a", "", 2.0)]], "row 2: expected two texts and a score"),
        ([[("a", "b", "1")]], "row 1: expected two texts and a score"),
        ([[("a", 1.0, 1.0)]], "row 1: expected two texts and a score"),
        ([[("a", "b", 1.0, "c")]], "row 1: expected two texts and a score"),
        ([[("a", "b", 1.0)], [("a", "b", 1.0)]], "has 2 sheets and 1 rows"),
        ([[]], "has 1 sheets and 0 rows"),
    ],
)
def test_sheets_of_another_form(tmp_path, sheets, message):
    with pytest.raises(DataError, match=rf"d\.xls.* {message}|d\.xls, {message}"):
        readers.read_xls_pairs(write_sheets(tmp_path / "d.xls", *sheets))


@pytest.mark.process
def test_the_readers_need_neither_mteb_nor_torch():
    code = (
        "import sys; import mteb_ext.data.readers, mteb_ext.data.checks; "
        "print([m for m in ('mteb', 'torch', 'datasets', 'xlrd', 'requests') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_question_folders_that_are_filled_in_part(tmp_path):
    for name in ("1", "2"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "question.txt").write_text("a?")
    (tmp_path / "2" / "question.txt").unlink()
    with pytest.raises(DataError, match=r"incomplete: 1/data\.csv is missing, and 2 more\."):
        readers.read_question_folders(tmp_path)
