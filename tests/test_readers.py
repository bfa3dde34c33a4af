"""Readers on hand-written files, with the traps of each format."""

from __future__ import annotations

import csv
import zipfile

import pytest

from mteb_ext import DataError
from mteb_ext.data import readers
from mteb_ext.data.sources import samples_folder


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
        ("\n", "line 3: expected 7 columns, found 1"),
    ],
)
def test_damaged_wikiqa(tmp_path, line, message):
    good = "Q1\tq\tD1\tIt\tD1-9\tsentence\t1\n"
    with pytest.raises(DataError, match=message) as caught:
        readers.read_wikiqa(write(tmp_path / "w.tsv", WIKIQA_HEADER + good + line))
    assert "w.tsv" in str(caught.value)


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


def test_damaged_trecqa(tmp_path):
    cut = TRECQA[: TRECQA.index("</QApairs>")]
    with pytest.raises(DataError, match=r"ends inside block 1\.1"):
        readers.read_trecqa(write(tmp_path / "t.xml", cut))
    with pytest.raises(DataError, match="outside a <QApairs> block"):
        readers.read_trecqa(write(tmp_path / "t.xml", "<positive>\na\n</positive>\n"))
    with pytest.raises(DataError, match="without a question"):
        readers.read_trecqa(write(tmp_path / "t.xml", "<QApairs id='1'>\n</QApairs>\n"))


def make_zip(path, members):
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return path


def test_zipped_pairs_with_more_pairs_than_gold(tmp_path):
    texts = make_zip(tmp_path / "t.zip", {"in.txt": '"One.\tUn "uno".\nTwo\tDos\nx\ty\n'})
    gold = make_zip(tmp_path / "g.zip", {"gs.txt": "4.200000\n3\n"})
    pairs = readers.read_zipped_pairs(texts, "in.txt", gold, "gs.txt")
    assert pairs.sentence1 == ['"One.', "Two"]
    assert pairs.sentence2 == ['Un "uno".', "Dos"]
    assert pairs.score == [4.2, 3.0]


def test_damaged_zipped_pairs(tmp_path):
    gold = make_zip(tmp_path / "g.zip", {"gs.txt": "1\n2\n", "bad.txt": "1\nx\n"})
    texts = make_zip(
        tmp_path / "t.zip",
        {"in.txt": "a\tb\nno tab\n", "short.txt": "a\tb\n", "two.txt": "a\tb\n" * 2},
    )

    def read(texts_member="in.txt", gold_member="gs.txt", archive=texts):
        return readers.read_zipped_pairs(archive, texts_member, gold, gold_member)

    with pytest.raises(DataError, match="line 2: expected 2 columns"):
        read()
    with pytest.raises(DataError, match="has 1 pairs for 2 scores"):
        read("short.txt")
    with pytest.raises(DataError, match="'x' is not a number"):
        read("two.txt", "bad.txt")
    with pytest.raises(DataError, match=r"cannot read none\.txt"):
        read("none.txt")
    truncated = tmp_path / "cut.zip"
    truncated.write_bytes(texts.read_bytes()[:-30])
    with pytest.raises(DataError, match=r"cut\.zip"):
        read(archive=truncated)


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
    with pytest.raises(DataError, match="line 1: expected 7 columns, found 6"):
        readers.read_stsbenchmark(write(file, "main-news\tM\t2012\t0001\t5.000\tOne\n"))
    with pytest.raises(DataError, match="the genre is 'main-poems'"):
        readers.read_stsbenchmark(write(file, "main-poems\tM\t2012\t0001\t5.000\tOne\tTwo\n"))


def test_direct_assessments(tmp_path):
    file = write(
        tmp_path / "DA.csv",
        "LP DATA SYSTEM SID HUMAN\n"
        "cs-en newstest2017 A.1+B.0 12 -0.5\n"
        "en-ru newstest2017 C.2 3 -9.5e-05\n",
    )
    assert list(readers.read_da_rows(file)) == [
        ("cs-en", "A.1", 12, -0.5),
        ("en-ru", "C.2", 3, -9.5e-05),
    ]
    with pytest.raises(DataError, match="line 2: expected LP DATA SYSTEM SID HUMAN"):
        list(readers.read_da_rows(write(file, "header\ncs-en newstest2017 A.1 -0.5\n")))


def test_text_lines_end_at_newlines_only_and_have_no_byte_order_mark(tmp_path):
    file = write(tmp_path / "t.txt", "\ufeffone\u2028still one \n\ntwo\r\n")
    assert readers.read_text_lines(file) == ["one\u2028still one ", "", "two\r"]
    assert readers.read_text_lines(write(file, "")) == []
    assert readers.read_text_lines(write(file, "no newline at the end")) == [
        "no newline at the end"
    ]
    with pytest.raises(DataError, match="not a readable UTF-8 file"):
        readers.read_text_lines(write(file, "Übung", "latin-1"))


def make_query(folder, name, question, data):
    place = folder / name
    place.mkdir(parents=True)
    write(place / "question.txt", question)
    write(place / "data.csv", data, "utf-8-sig")


def test_question_folders(tmp_path):
    header = "question,answer,label\r\n"
    make_query(tmp_path, "1", "How?\n", header + '"a\nb",Person Name,1\r\nc,x,0\r\n"a\nb",y,0\r\n')
    make_query(tmp_path, "10", " Ten \n", header + 'c,"no, one",1\r\n')
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
    make_query(tmp_path / "cut", "1", "How?\n", 'question,answer,label\r\n"never closed,b,1\r\n')
    with pytest.raises(DataError, match="record 1: the question or the label is missing"):
        readers.read_question_folders(tmp_path / "cut")
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
    with pytest.raises(DataError, match="record 1: the question or the label is missing"):
        readers.read_question_folders(tmp_path)
    (tmp_path / "1" / "question.txt").unlink()
    with pytest.raises(DataError, match=r"question\.txt"):
        readers.read_question_folders(tmp_path)


def test_xls_pairs_as_they_stand():
    pairs = readers.read_xls_pairs(samples_folder() / "dataset_JA_Clinical_STS.xls")
    assert len(pairs) == 30
    assert {0.0, 1.0, 2.0, 3.0, 4.0, 5.0} == set(pairs.score)
    assert any(text != text.strip() for text in pairs.sentence1 + pairs.sentence2)


def test_damaged_xls(tmp_path):
    whole = (samples_folder() / "dataset_JA_Clinical_STS.xls").read_bytes()
    for content in (whole[: len(whole) // 2], b"", b"not a spreadsheet"):
        file = tmp_path / "d.xls"
        file.write_bytes(content)
        with pytest.raises(DataError, match=r"d\.xls"):
            readers.read_xls_pairs(file)
