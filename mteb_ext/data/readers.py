r"""One reader a file format, exact about lines and quotes.

Lines end at ``\n`` and nowhere else (``str.splitlines`` also splits at U+2028 and others, which
occur inside texts), and a quotation mark is a character like any other except where a reader says
so. Texts are returned as they stand in the file.
"""

from __future__ import annotations

import csv
import io
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

from mteb_ext.data.records import Pairs, Question
from mteb_ext.errors import DataError

STS_BENCHMARK_GENRES = ("news", "captions", "forums")


def read_xls_pairs(path: Path) -> Pairs:
    """Read a spreadsheet (.xls) of one sheet without header: sentence 1, sentence 2, score.

    Raises:
        DataError: If it is no such spreadsheet.
    """
    import python_calamine

    try:
        rows = python_calamine.CalamineWorkbook.from_path(path).get_sheet_by_index(0).to_python()
    except (python_calamine.CalamineError, OSError) as error:
        raise DataError(f"{path} is not a readable spreadsheet: {error}") from error
    sentence1, sentence2, score = [], [], []
    for number, row in enumerate(rows, start=1):
        if len(row) != 3 or not all(isinstance(cell, str) for cell in row[:2]):
            raise DataError(f"{path}, row {number}: expected two texts and a score, found {row!r}")
        sentence1.append(str(row[0]))
        sentence2.append(str(row[1]))
        score.append(_number(str(row[2]), path, number))
    return Pairs(sentence1, sentence2, score)


def read_question_folders(folder: Path) -> list[Question]:
    """Read the QABot layout: folders ``1``, ``2``, … with ``question.txt`` and ``data.csv``.

    ``data.csv`` is a quoted CSV (UTF-8 with byte order mark) with the columns question, answer and
    label. The answers hold names of people: they are dropped here, and no message quotes a cell.
    The candidates of all queries are one pool of questions, so the identifier of a candidate is its
    text's place in that pool (a text that occurs twice in one list gets a second identifier).

    Raises:
        DataError: If a file is missing or has another layout.
    """
    if not folder.is_dir():
        raise DataError(f"{folder} is not a folder")
    names = [p.name for p in folder.iterdir() if p.is_dir() and re.fullmatch("[0-9]+", p.name)]
    pool: dict[tuple[str, int], str] = {}
    questions = []
    for name in sorted(names, key=int):
        text = _text(folder / name / "question.txt", "utf-8-sig").strip()
        candidates, labels = _read_candidate_questions(folder / name / "data.csv")
        ids, seen = [], dict.fromkeys(candidates, 0)
        for candidate in candidates:
            ids.append(pool.setdefault((candidate, seen[candidate]), f"{len(pool):05d}"))
            seen[candidate] += 1
        questions.append(Question(name, text, ids, candidates, labels))
    return questions


def _read_candidate_questions(path: Path) -> tuple[list[str], list[int]]:
    limit = csv.field_size_limit(len(text := _text(path, "utf-8-sig")) + 1)  # an answer may be long
    try:
        return _candidate_rows(csv.DictReader(io.StringIO(text, newline="")), path)
    except csv.Error as error:
        raise DataError(f"{path} is not a readable CSV file: {error}") from error
    finally:
        csv.field_size_limit(limit)


def _candidate_rows(rows: csv.DictReader[str], path: Path) -> tuple[list[str], list[int]]:
    if not {"question", "label"} <= set(rows.fieldnames or ()):
        raise DataError(f"{path}: the first line does not name the columns question and label")
    candidates, labels = [], []
    for number, row in enumerate(rows, start=1):
        if row["question"] is None or row["label"] is None:
            raise DataError(f"{path}, record {number}: the question or the label is missing")
        if row["label"] not in {"0", "1"}:
            raise DataError(f"{path}, record {number}: the label is neither 0 nor 1")
        candidates.append(row["question"])
        labels.append(int(row["label"]))
    return candidates, labels


def read_wikiqa(path: Path) -> list[Question]:
    """Read a WikiQA file: tab-separated, a header, seven columns, no quoting.

    Sentence identifiers repeat across questions, so a candidate is identified by both.

    Raises:
        DataError: If a line has another number of columns or another label than 0 or 1.
    """
    questions: dict[str, Question] = {}
    for number, line in enumerate(_lines(path), start=1):
        if number == 1:
            continue
        columns = line.split("\t")
        if len(columns) != 7:
            raise DataError(f"{path}, line {number}: expected 7 columns, found {len(columns)}")
        question_id, text, _, _, sentence_id, sentence, label = columns
        question = questions.setdefault(question_id, Question(question_id, text, [], [], []))
        question.candidate_ids.append(f"{question_id}/{sentence_id}")
        question.candidates.append(sentence)
        question.labels.append(_label(label, path, number))
    return list(questions.values())


def read_trecqa(path: Path) -> list[Question]:
    """Read a TREC-QA file: blocks that look like XML and are none (bare ``&``, ``<num>``).

    Each ``<QApairs id='…'>`` block holds one ``<question>`` and any number of ``<positive>`` and
    ``<negative>`` candidates; the first line of each is its tab-separated tokens, and a text is its
    tokens joined by one space. Questions without candidates are returned too.

    Raises:
        DataError: If a candidate stands outside a block, or the file ends inside one.
    """
    labels = {"<positive>": 1, "<negative>": 0}
    questions: list[Question] = []
    block: Question | None = None
    lines = iter(enumerate(_lines(path), start=1))
    for number, line in lines:
        if line.startswith("<QApairs id='"):
            block = Question(line.split("'")[1], "", [], [], [])
        elif line == "</QApairs>":
            if block is None or not block.text:
                raise DataError(f"{path}, line {number}: a block ends without a question")
            questions.append(block)
            block = None
        elif line == "<question>" or line in labels:
            if block is None:
                raise DataError(f"{path}, line {number}: {line} stands outside a <QApairs> block")
            text = " ".join(next(lines, (0, ""))[1].split("\t")).strip()
            if line == "<question>":
                block = Question(
                    block.id, text, block.candidate_ids, block.candidates, block.labels
                )
            else:
                block.candidate_ids.append(f"{block.id}/{len(block):04d}")
                block.candidates.append(text)
                block.labels.append(labels[line])
    if block is not None:
        raise DataError(f"{path} ends inside block {block.id}: the file is cut short")
    return questions


def read_zipped_pairs(texts: Path, texts_member: str, gold: Path, gold_member: str) -> Pairs:
    """Read one track of a SemEval task: a member with the pairs, another with the gold scores.

    Pairs are tab-separated and unquoted. Where there are more pairs than gold scores (track 6), the
    gold belongs to the first ones.

    Raises:
        DataError: If an archive or a member is damaged, or a row has not two texts.
    """
    scores = _lines_of(_member(gold, gold_member), f"{gold}/{gold_member}")
    rows = _lines_of(_member(texts, texts_member), f"{texts}/{texts_member}")
    if len(rows) < len(scores):
        raise DataError(f"{texts}/{texts_member} has {len(rows)} pairs for {len(scores)} scores")
    sentence1, sentence2 = [], []
    for number, row in enumerate(rows[: len(scores)], start=1):
        columns = row.split("\t")
        if len(columns) != 2:
            raise DataError(f"{texts}/{texts_member}, line {number}: expected 2 columns")
        sentence1.append(columns[0])
        sentence2.append(columns[1])
    return Pairs(
        sentence1, sentence2, [_number(s, gold, number) for number, s in enumerate(scores, start=1)]
    )


def _member(archive: Path, name: str) -> bytes:
    try:
        with zipfile.ZipFile(archive) as file:
            return file.read(name)
    except (zipfile.BadZipFile, KeyError, OSError) as error:
        raise DataError(f"{archive}: cannot read {name}: {error}") from error


def read_stsbenchmark(path: Path) -> Pairs:
    """Read an STS Benchmark file: tab-separated, no header, no quoting.

    The columns are genre, file, year, index, score and the two sentences; some rows carry two more
    that name their origin. ``main-forum`` (train) and ``main-forums`` (dev, test) are one genre.

    Raises:
        DataError: If a row has fewer than seven columns, another genre or no number as its score.
    """
    genre, score, sentence1, sentence2 = [], [], [], []
    for number, line in enumerate(_lines(path), start=1):
        columns = line.split("\t")
        if len(columns) < 7:
            raise DataError(f"{path}, line {number}: expected 7 columns, found {len(columns)}")
        genre.append(_genre(columns[0], path, number))
        score.append(_number(columns[4], path, number))
        sentence1.append(columns[5])
        sentence2.append(columns[6])
    return Pairs(sentence1, sentence2, score, genre)


def _genre(name: str, path: Path, number: int) -> str:
    genre = {"main-forum": "forums"}.get(name, name.removeprefix("main-"))
    if genre not in STS_BENCHMARK_GENRES:
        raise DataError(f"{path}, line {number}: the genre is {name!r}")
    return genre


def read_da_rows(path: Path) -> Iterator[tuple[str, str, int, float]]:
    """Read WMT17's segment-level Direct Assessments: ``LP DATA SYSTEM SID HUMAN``, space-separated.

    Yields:
        The language pair, the first of the systems that share the output (``+`` joins them), the
        line number of the segment counted from 1, and the human score.

    Raises:
        DataError: If a line has another number of columns.
    """
    for number, line in enumerate(_lines(path), start=1):
        if number == 1:
            continue
        columns = line.split(" ")
        if len(columns) != 5 or not columns[3].isdecimal():
            raise DataError(f"{path}, line {number}: expected LP DATA SYSTEM SID HUMAN")
        yield (
            columns[0],
            columns[2].split("+")[0],
            int(columns[3]),
            _number(columns[4], path, number),
        )


def read_text_lines(path: Path) -> list[str]:
    """Read the lines of a text file; a byte order mark at its start is no part of the text.

    Raises:
        DataError: If the file is not UTF-8 text.
    """
    return _lines(path, "utf-8-sig")


def read_number_lines(path: Path) -> list[float]:
    """Read a file of one number a line.

    Raises:
        DataError: If a line is no number.
    """
    return [_number(line, path, number) for number, line in enumerate(_lines(path), start=1)]


def _lines(path: Path, encoding: str = "utf-8") -> list[str]:
    return _split(_text(path, encoding))


def _lines_of(content: bytes, name: str) -> list[str]:
    try:
        return _split(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise DataError(f"{name} is not UTF-8 text: {error}") from error


def _split(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n") if text else []


def _text(path: Path, encoding: str = "utf-8") -> str:
    try:
        return path.read_bytes().decode(encoding)
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} is not a readable UTF-8 file: {error}") from error


def _number(text: str, path: Path, number: int) -> float:
    try:
        return float(text)
    except ValueError:
        raise DataError(f"{path}, line {number}: {text!r} is not a number") from None


def _label(text: str, path: Path, number: int) -> int:
    if text.strip() not in {"0", "1"}:
        raise DataError(f"{path}, line {number}: the label is {text!r}, expected 0 or 1")
    return int(text)
