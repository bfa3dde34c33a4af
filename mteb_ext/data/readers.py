r"""One reader a file format, exact about lines and quotes.

Lines end at ``\n`` and nowhere else: ``str.splitlines`` also splits at U+2028 and others, which
occur inside texts. A quotation mark is an ordinary character unless a reader says otherwise. Texts
are returned as they stand in the file. A byte order mark at the start of a file is dropped.

A file is read whole or refused with a :class:`~mteb_ext.errors.DataError` that names file and row.
Nothing is skipped, guessed or repaired. Archives are unpacked up to ``UNPACKED_LIMIT`` bytes.
"""

from __future__ import annotations

import csv
import gzip
import io
import math
import re
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from mteb_ext.data.records import Pairs, Question, Segment
from mteb_ext.errors import DataError
from mteb_ext.json_files import parse_json

STS_BENCHMARK_GENRES = ("news", "captions", "forums")
UNPACKED_LIMIT = 2**26  # bytes; six times the largest file of the papers
_WIKIQA_HEADER = "QuestionID\tQuestion\tDocumentID\tDocumentTitle\tSentenceID\tSentence\tLabel"
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")


def read_xls_pairs(path: Path) -> Pairs:
    """Read a spreadsheet (.xls) of one sheet without header: sentence 1, sentence 2, score.

    Raises:
        DataError: If the file is not such a spreadsheet.
    """
    import xlrd

    content, remarks = _content(path), io.StringIO()
    try:
        # xlrd is pure Python: damaged files have hung or crashed compiled readers.
        book = xlrd.open_workbook(file_contents=content, logfile=remarks, verbosity=1)
        sheets, sheet = book.nsheets, book.sheet_by_index(0)
        rows = [sheet.row_values(i) for i in range(sheet.nrows)]
    except Exception as error:  # any type, depending on the damage
        raise DataError(
            f"{path} is not a readable spreadsheet: {type(error).__name__}: {error}"
        ) from error
    if "***" in remarks.getvalue():  # how xlrd marks a repair, such as missing rows
        last = remarks.getvalue().strip().rpartition("\n")[2]
        raise DataError(f"{path} is damaged: {last}")
    if sheets != 1 or not rows:
        raise DataError(f"{path} has {sheets} sheets and {len(rows)} rows: expected one sheet")
    pairs = Pairs([], [], [])
    for number, row in enumerate(rows, start=1):
        if [type(cell) for cell in row] != [str, str, float] or not (row[0] and row[1]):
            raise DataError(f"{path}, row {number}: expected two texts and a score, found {row!r}")
        pairs.sentence1.append(row[0])
        pairs.sentence2.append(row[1])
        pairs.score.append(finite_number(str(row[2]), path, number))
    return pairs


def read_scored_pairs(path: Path) -> Pairs:
    """Read a file of three tab-separated columns without header: score, sentence 1, sentence 2.

    Raises:
        DataError: If a line has another number of columns or an invalid score.
    """
    pairs = Pairs([], [], [])
    for number, line in _numbered_lines(path):
        score, sentence1, sentence2 = _columns(line, 3, path, number)
        pairs.sentence1.append(sentence1)
        pairs.sentence2.append(sentence2)
        pairs.score.append(finite_number(score, path, number))
    return pairs


def read_question_folders(folder: Path) -> list[Question]:
    """Read the QABot layout: folders ``1``, ``2``, … with ``question.txt`` and ``data.csv``.

    ``data.csv`` is a quoted CSV (UTF-8 with byte order mark) with the columns question, answer and
    label. The answers contain people's names: they are dropped here, and no message quotes a cell.
    All queries draw their candidates from one pool of questions. A candidate's identifier is its
    text's place in that pool; a text that occurs twice in one list gets a second identifier.

    Raises:
        DataError: If a file is missing or has another layout.
    """
    if not folder.is_dir():
        raise DataError(f"{folder} is not a folder")
    names = [p.name for p in folder.iterdir() if p.is_dir() and re.fullmatch("[0-9]+", p.name)]
    if not names:
        raise DataError(f"{folder} holds no folders 1, 2, …, one a query")
    _check_filled(folder, names)
    pool: dict[tuple[str, int], str] = {}
    questions = []
    for name in sorted(names, key=int):
        text = _text(folder / name / "question.txt").strip()
        if not text:
            raise DataError(f"{folder / name / 'question.txt'} holds no question")
        candidates, labels = _read_candidate_questions(folder / name / "data.csv")
        ids, seen = [], dict.fromkeys(candidates, 0)
        for candidate in candidates:
            ids.append(pool.setdefault((candidate, seen[candidate]), f"{len(pool):05d}"))
            seen[candidate] += 1
        questions.append(Question(name, text, ids, candidates, labels))
    return questions


def _check_filled(folder: Path, names: Iterable[str]) -> None:
    files = [f"{name}/{file}" for name in names for file in ("question.txt", "data.csv")]
    if lacking := sorted(name for name in files if not (folder / name).is_file()):
        raise DataError(
            f"{folder} is incomplete: {lacking[0]} is missing, and {len(lacking) - 1} more. "
            "Each of the folders 1, 2, … holds question.txt and data.csv: copy the others too."
        )


def _read_candidate_questions(path: Path) -> tuple[list[str], list[int]]:
    limit = csv.field_size_limit(len(text := _text(path)) + 1)  # an answer may be long
    try:
        return _candidate_rows(csv.reader(io.StringIO(text, newline=""), strict=True), path)
    except csv.Error as error:
        raise DataError(f"{path} is not a readable CSV file: {error}") from error
    finally:
        csv.field_size_limit(limit)


def _candidate_rows(rows: Iterator[list[str]], path: Path) -> tuple[list[str], list[int]]:
    header = next(rows, [])
    if header.count("question") != 1 or header.count("label") != 1:
        raise DataError(
            f"{path}: the first line does not name the columns question and label, once each"
        )
    question, label = header.index("question"), header.index("label")
    candidates, labels = [], []
    for number, row in enumerate(filter(None, rows), start=1):  # an empty line is no record
        if len(row) != len(header):
            raise DataError(
                f"{path}, record {number}: expected {len(header)} fields, found {len(row)}"
            )
        if row[label] not in {"0", "1"}:
            raise DataError(f"{path}, record {number}: the label is neither 0 nor 1")
        candidates.append(row[question])
        labels.append(int(row[label]))
    if not candidates:
        raise DataError(f"{path} has a header and no records: the file is cut short")
    return candidates, labels


def read_wikiqa(path: Path) -> list[Question]:
    """Read a WikiQA file: tab-separated, a header, seven columns, no quoting.

    Sentence identifiers repeat across questions, so a candidate is identified by both.

    Raises:
        DataError: If the header or a line has other columns, a label is not 0 or 1, or an
            identifier stands for two texts.
    """
    questions: dict[str, Question] = {}
    lines = _numbered_lines(path, header=_WIKIQA_HEADER)
    for number, line in lines:
        question_id, text, _, _, sentence_id, sentence, label = _columns(line, 7, path, number)
        question = questions.setdefault(question_id, Question(question_id, text, [], [], []))
        if question.text != text:
            raise DataError(f"{path}, line {number}: {question_id} stands for another question too")
        question.candidate_ids.append(f"{question_id}/{sentence_id}")
        question.candidates.append(sentence)
        question.labels.append(_label(label, path, number))
    return list(questions.values())


def read_json_questions(path: Path) -> list[Question]:
    """Read questions from JSON lines, gzipped where the name ends in ``.gz``.

    A line is ``{"question": …, "candidates": [{"sentence": …, "label": 0 or 1}, …]}``. A question
    is identified by the number of its line. Questions without candidates are returned too.

    Raises:
        DataError: If a line is another kind of object.
    """
    questions = []
    for number, line in _numbered_lines(path):
        try:
            row = parse_json(line)
            text, candidates = row["question"], row["candidates"]
            sentences = [candidate["sentence"] for candidate in candidates]
            labels = [candidate["label"] for candidate in candidates]
        except (ValueError, KeyError, TypeError) as error:
            raise DataError(
                f"{path}, line {number} is not a question with candidates: "
                f"{type(error).__name__}: {error}"
            ) from error
        if not all(isinstance(value, str) for value in (text, *sentences)):
            raise DataError(f"{path}, line {number}: a question or a sentence is not text")
        if not all(type(label) is int and label in {0, 1} for label in labels):
            raise DataError(f"{path}, line {number}: a label is neither 0 nor 1")
        ids = [f"{number}/{i:04d}" for i in range(len(labels))]
        questions.append(Question(str(number), text, ids, sentences, labels))
    return questions


def read_asnq(path: Path) -> Iterator[tuple[str, str, int]]:
    """Read ASNQ, line by line: question, sentence and a label from 1 to 4, tab-separated.

    Label 4 is a sentence of the long answer that holds the short answer; 1 to 3 lack one or both.

    Yields:
        Question, sentence, and whether it answers: 1 for label 4, else 0.

    Raises:
        DataError: If a line has another number of columns or another label.
    """
    number = 0
    try:
        with path.open(encoding="utf-8-sig", newline="\n") as file:
            for number, text in enumerate(file, start=1):
                (line,) = _split(text, path, number)
                question, sentence, label = _columns(line, 3, path, number)
                if label not in {"1", "2", "3", "4"} or "\0" in line:
                    raise DataError(f"{path}, line {number}: expected a label from 1 to 4")
                yield question, sentence, int(label == "4")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}, after line {number}: {error}") from error
    if not number:
        raise DataError(f"{path} is empty")


def read_trecqa(path: Path) -> list[Question]:
    """Read a TREC-QA file: blocks that look like XML but do not parse (bare ``&``, ``<num>``).

    Each ``<QApairs id='…'>`` block holds one ``<question>`` and any number of ``<positive>`` and
    ``<negative>`` candidates; the first line of each is its tab-separated tokens, and a text is its
    tokens joined by one space. The other lines annotate the tokens. Questions without candidates
    are returned too.

    Raises:
        DataError: If a tag or a line is out of place, or the file ends inside a block.
    """
    kinds = ("question", "positive", "negative")
    questions: list[Question] = []
    block: Question | None = None
    lines = _numbered_lines(path)
    for number, line in lines:
        kind = line.removeprefix("<").removesuffix(">")
        if opening := re.fullmatch("<QApairs id='([^']+)'>", line):
            if block is not None:
                raise DataError(f"{path}, line {number}: block {block.id} is still open")
            block = Question(opening[1], "", [], [], [])
        elif block is None:
            raise DataError(f"{path}, line {number}: {line[:40]!r} stands outside a block")
        elif line == "</QApairs>":
            if not block.text:
                raise DataError(f"{path}, line {number}: a block ends without a question")
            questions.append(block)
            block = None
        elif line != f"<{kind}>" or kind not in kinds:
            raise DataError(f"{path}, line {number}: {line[:40]!r} is not an element of a block")
        else:
            text = _tokens(lines, kind, path, number)
            if kind != "question":
                block.candidate_ids.append(f"{block.id}/{len(block):04d}")
                block.candidates.append(text)
                block.labels.append(int(kind == "positive"))
            elif block.text:
                raise DataError(f"{path}, line {number}: block {block.id} has two questions")
            else:
                block = Question(
                    block.id, text, block.candidate_ids, block.candidates, block.labels
                )
    if block is not None:
        raise DataError(f"{path} ends inside block {block.id}: the file is cut short")
    return questions


def _tokens(lines: Iterator[tuple[int, str]], kind: str, path: Path, start: int) -> str:
    """The text of an element; consumes the lines up to its closing tag."""
    text = None
    for number, line in lines:
        if line == f"</{kind}>" and text:
            return text
        if re.fullmatch("</?(QApairs.*|question|positive|negative)>", line):
            raise DataError(f"{path}, line {number}: {line} inside <{kind}> of line {start}")
        text = " ".join(line.split("\t")).strip() if text is None else text
    raise DataError(f"{path} ends inside <{kind}> of line {start}: the file is cut short")


def read_zipped_pairs(
    texts: Path, texts_member: str, gold: Path, gold_member: str, *, first_only: bool = False
) -> Pairs:
    """Read one track of a SemEval task: a member with the pairs, another with the gold scores.

    Pairs are tab-separated and unquoted.

    Args:
        texts: The archive of the pairs.
        texts_member: The name of their file in it.
        gold: The archive of the gold scores.
        gold_member: The name of their file in it.
        first_only: Return the first pairs only, as many as there are gold scores (track 6).

    Raises:
        DataError: If an archive or a member is damaged, a row does not have two texts, or the
            numbers of pairs and scores differ.
    """
    where = Path(f"{texts}/{texts_member}")
    rows = _split(decoded(_member(texts, texts_member), where), where)
    gold_path = Path(f"{gold}/{gold_member}")
    scores = _split(decoded(_member(gold, gold_member), gold_path), gold_path)
    if len(rows) < len(scores) or (len(rows) > len(scores) and not first_only):
        raise DataError(f"{where} has {len(rows)} pairs for {len(scores)} scores")
    pairs = Pairs([], [], [])
    for number, (row, score) in enumerate(zip(rows, scores, strict=False), start=1):
        sentence1, sentence2 = _columns(row, 2, where, number)
        pairs.sentence1.append(sentence1)
        pairs.sentence2.append(sentence2)
        pairs.score.append(finite_number(score, gold_path, number))
    return pairs


def _member(archive: Path, name: str) -> bytes:
    content = _content(archive)
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as file:
            if file.getinfo(name).compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
                raise DataError(f"{archive}: {name} is compressed in an unusual way")
            with file.open(name) as member:
                return unpacked(member, f"{archive}/{name}")
    except (
        zipfile.BadZipFile,
        zlib.error,
        struct.error,
        KeyError,  # no such member
        RuntimeError,  # encrypted, or a feature that is not implemented
        ValueError,
        EOFError,
        OSError,
    ) as error:
        raise DataError(f"{archive}: cannot read {name}: {error}") from error


def read_stsbenchmark(path: Path) -> Pairs:
    """Read an STS Benchmark file: tab-separated, no header, no quoting.

    The columns are genre, file, year, index, score and the two sentences. Some rows have two more
    columns, which name their origin. ``main-forum`` (train) and ``main-forums`` (dev, test) are one
    genre.

    Raises:
        DataError: If a row has another number of columns, an unknown genre or an invalid score.
    """
    pairs = Pairs([], [], [])
    for number, line in _numbered_lines(path):
        columns = line.split("\t")
        if len(columns) not in {7, 9}:
            raise DataError(f"{path}, line {number}: expected 7 or 9 columns, found {len(columns)}")
        pairs.genre.append(_genre(columns[0], path, number))
        pairs.score.append(finite_number(columns[4], path, number))
        pairs.sentence1.append(columns[5])
        pairs.sentence2.append(columns[6])
    return pairs


def _genre(name: str, path: Path, number: int) -> str:
    genre = {"main-forum": "forums"}.get(name, name.removeprefix("main-"))
    if genre not in STS_BENCHMARK_GENRES:
        raise DataError(f"{path}, line {number}: the genre is {name!r}")
    return genre


def read_da_rows(path: Path) -> Iterator[tuple[str, Segment, float]]:
    """Read WMT17's segment-level Direct Assessments: ``LP DATA SYSTEM SID HUMAN``, space-separated.

    Yields:
        The language pair, the segment (``+`` joins systems that share the output), and the human
        score.

    Raises:
        DataError: If the header or a line has other columns.
    """
    for number, line in _numbered_lines(path, header="LP DATA SYSTEM SID HUMAN"):
        columns = line.split(" ")
        if len(columns) != 5 or not re.fullmatch("[0-9]{1,9}", columns[3]):
            raise DataError(f"{path}, line {number}: expected LP DATA SYSTEM SID HUMAN")
        segment = Segment(columns[1], tuple(columns[2].split("+")), int(columns[3]))
        yield columns[0], segment, finite_number(columns[4], path, number)


def read_text_lines(path: Path) -> list[str]:
    """Read the lines of a text file.

    Raises:
        DataError: If the file is empty or not UTF-8 text.
    """
    return [line for _, line in _numbered_lines(path)]


def read_number_lines(path: Path) -> list[float]:
    """Read a file of one number a line.

    Raises:
        DataError: If a line is not a number.
    """
    return [finite_number(line, path, number) for number, line in _numbered_lines(path)]


def _numbered_lines(path: Path, header: str | None = None) -> Iterator[tuple[int, str]]:
    """The lines of a file, numbered from 1. A header must be the first line, and is left out."""
    lines = _split(_text(path), path)
    if header is not None and lines[0] != header:
        raise DataError(f"{path}, line 1: expected the header {header!r}, found {lines[0][:80]!r}")
    if header is not None and len(lines) == 1:
        raise DataError(f"{path} has a header and no rows: the file is cut short")
    numbered = enumerate(lines, start=1)
    return numbered if header is None else islice(numbered, 1, None)


def _split(text: str, path: Path, first: int = 1) -> list[str]:
    lines = text.removesuffix("\n").split("\n")
    for number, line in enumerate(lines, start=first):
        if line.endswith("\r"):
            raise DataError(
                f"{path}, line {number} ends with a carriage return: the line ends have been "
                "converted. Take the original file."
            )
    return lines


def _columns(line: str, n: int, path: Path, number: int) -> list[str]:
    columns = line.split("\t")
    if len(columns) != n:
        raise DataError(f"{path}, line {number}: expected {n} columns, found {len(columns)}")
    return columns


def _text(path: Path) -> str:
    content = _content(path)
    if path.suffix == ".gz":
        try:
            with gzip.open(io.BytesIO(content)) as file:
                content = unpacked(file, str(path))
        except (OSError, EOFError, zlib.error) as error:
            raise DataError(f"{path} is not a readable gzip file: {error}") from error
    return decoded(content, path)


def _content(path: Path) -> bytes:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.") from error
    if re.match(rb"(\xef\xbb\xbf)?\s*<(!doctype|html)", content, re.IGNORECASE):
        raise DataError(f"{path} is a web page, not the data file: the download went wrong")
    return content


def unpacked(file: Any, name: str) -> bytes:  # noqa: ANN401 - a file of zipfile or gzip
    """What a packed file holds.

    Raises:
        DataError: If it is more than ``UNPACKED_LIMIT`` bytes.
    """
    content = bytearray()
    while chunk := file.read(2**16):
        content += chunk
        if len(content) > UNPACKED_LIMIT:
            raise DataError(
                f"{name} unpacks to more than {UNPACKED_LIMIT} bytes: not the data file"
            )
    return bytes(content)


def decoded(content: bytes, path: Path) -> str:
    """The text of a file in UTF-8, without a byte order mark.

    Raises:
        DataError: If it is empty, or no text.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not a readable UTF-8 file: {error}") from error
    if not text:
        raise DataError(f"{path} is empty")
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise DataError(f"{path}, line {line}: a NUL character; this is not a text file")
    return text


def finite_number(text: str, path: Path, number: int) -> float:
    """The number in a column of a line: digits, a decimal point, an exponent.

    Raises:
        DataError: If it is none, or is not finite.
    """
    if not _NUMBER.fullmatch(text) or not math.isfinite(value := float(text)):
        raise DataError(f"{path}, line {number}: {text[:40]!r} is not a finite number")
    return value


def _label(text: str, path: Path, number: int) -> int:
    if text not in {"0", "1"}:
        raise DataError(f"{path}, line {number}: the label is {text[:40]!r}, expected 0 or 1")
    return int(text)
