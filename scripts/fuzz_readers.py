"""Feed the readers damaged files: each is read whole, or refused with the package's own error.

The bundled samples are damaged at random: cut, bytes and lines removed, repeated, exchanged or
inserted, the encoding or the line ends changed. A fault is another exception than ``DataError``,
a case that computes for longer than a few seconds, or a parse with another number of rows than a
second count by other means. What the readers accept was damaged too (another letter in a sentence,
say); that is for the fingerprint to find.

    python scripts/fuzz_readers.py --cases 100000

prints a table, and each fault with the seed that repeats it (``--seed N --cases 1 --only FORMAT``).
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import json
import signal
import tempfile
import time
import tracemalloc
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from mteb_ext.data import readers
from mteb_ext.data.records import Pairs, Question
from mteb_ext.data.verify import check_records
from mteb_ext.errors import DataError

SAMPLES = Path(readers.__file__).parent / "samples"
SECONDS_A_CASE = 5
MEASURED = 100  # the memory of one case in so many
TOKENS = [
    *(
        b"\n",
        b"\r\n",
        b"\r",
        b"\t",
        b" ",
        b'"',
        b"'",
        b",",
        b"\0",
        b"\xff",
        b"\xef\xbb\xbf",
        b"\x85",
    ),
    *(
        "\u2028".encode(),
        "\uff11".encode(),
        b"nan",
        b"inf",
        b"1e999",
        b"1_0",
        b"-",
        b"0",
        b"1",
        b"2",
    ),
    *(b"<question>\n", b"</positive>\n", b"<negative>\n", b"</QApairs>\n", b"<QApairs id='1.1'>\n"),
    *(
        b"{",
        b"}",
        b"[",
        b"]",
        b'"label": true',
        b'"label": 1,',
        b"\\ud800",
        b"null",
        b"&amp;",
        b"+",
    ),
    *(b"question", b"label", b"<html>", b"PK\x03\x04", b"\x1f\x8b"),
]


class FaultError(Exception):
    """A reader did what it must not do."""


class _TooSlow(BaseException):
    pass


@dataclass(frozen=True)
class Format:
    """A file format, as a sample and a second opinion.

    Attributes:
        files: The sample's content by name. The damage is done to one of them.
        read: The reader, on the folder of these files.
        shape: The number of rows (for questions: of questions and of rows), counted by other means.
        pack: What becomes of the damaged files before they are written: an archive, say.
    """

    files: Mapping[str, bytes]
    read: Callable[[Path], Any]
    shape: Callable[[Mapping[str, bytes]], tuple[int, ...]]
    pack: Callable[[Mapping[str, bytes]], Mapping[str, bytes]] = dict


def _lines(content: bytes) -> list[str]:
    return content.decode("utf-8-sig").removesuffix("\n").split("\n")


def _json_shape(files: Mapping[str, bytes]) -> tuple[int, ...]:
    rows = [json.loads(line) for line in _lines(files["q.jsonl"])]
    return len(rows), sum(len(row["candidates"]) for row in rows)


def _wikiqa_shape(files: Mapping[str, bytes]) -> tuple[int, ...]:
    rows = _lines(files["w.tsv"])[1:]
    return len({row.split("\t")[0] for row in rows}), len(rows)


def _trecqa_shape(files: Mapping[str, bytes]) -> tuple[int, ...]:
    lines = Counter(line.split(" ")[0] for line in _lines(files["t.xml"]))
    return lines["<QApairs"], lines["<positive>"] + lines["<negative>"]


def _folders_shape(files: Mapping[str, bytes]) -> tuple[int, ...]:
    tables = [content for name, content in files.items() if name.endswith(".csv")]
    records = [
        sum(map(bool, csv.reader(io.StringIO(table.decode("utf-8-sig"), newline="")))) - 1
        for table in tables
    ]
    return len(tables), sum(records)


def _zipped(files: Mapping[str, bytes]) -> dict[str, bytes]:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in files.items():
            file.writestr(name, content)
    return {"a.zip": archive.getvalue()}


def _unzipped_shape(files: Mapping[str, bytes]) -> tuple[int, ...]:
    with zipfile.ZipFile(io.BytesIO(files["a.zip"])) as file:
        return _members_shape({name: file.read(name) for name in ("in.txt", "gs.txt")})


def _members_shape(files: Mapping[str, bytes]) -> tuple[int, ...]:
    n_pairs, n_scores = (len(_lines(files[name])) for name in ("in.txt", "gs.txt"))
    return (n_scores,) if n_pairs == n_scores else (-1,)


def _read_zip(folder: Path) -> Pairs:
    archive = folder / "a.zip"
    return readers.read_zipped_pairs(archive, "in.txt", archive, "gs.txt")


def _gzipped(files: Mapping[str, bytes]) -> dict[str, bytes]:
    return {f"{name}.gz": gzip.compress(content, 1) for name, content in files.items()}


def _sample(name: str) -> bytes:
    return (SAMPLES / name).read_bytes()


def formats() -> dict[str, Format]:
    """Every format that a reader of the package knows, by name."""
    members = {"in.txt": b'A \xe2\x80\xa8 b\tc\nd\t"e\n' * 8, "gs.txt": b"4.200000\n3\n" * 8}
    questions = {"q.jsonl": _sample("trec-qa/dev.jsonl")}
    folders = {
        name: _sample(f"qabot/{name}")
        for number in "12"
        for name in (f"{number}/question.txt", f"{number}/data.csv")
    }
    return {
        "JSON lines": Format(
            questions, lambda f: readers.read_json_questions(f / "q.jsonl"), _json_shape
        ),
        "JSON lines in gzip": Format(
            questions,
            lambda f: readers.read_json_questions(f / "q.jsonl.gz"),
            _json_shape,
            _gzipped,
        ),
        "gzip": Format(
            _gzipped(questions),
            lambda f: readers.read_json_questions(f / "q.jsonl.gz"),
            lambda files: _json_shape({"q.jsonl": gzip.decompress(files["q.jsonl.gz"])}),
        ),
        "ASNQ": Format(
            {"a.tsv": 'who ?\tIt is\u2028 A .\t4\nwho ?\tNo .\t1\nwhen\t"Then\t3\n'.encode() * 4},
            lambda f: list(readers.read_asnq(f / "a.tsv")),
            lambda files: (len(_lines(files["a.tsv"])),),
        ),
        "TREC-QA": Format(
            {"t.xml": _sample("TrecQA/data/DEV.xml")},
            lambda f: readers.read_trecqa(f / "t.xml"),
            _trecqa_shape,
        ),
        "WikiQA": Format(
            {"w.tsv": _sample("WikiQACorpus/WikiQA-dev.tsv")},
            lambda f: readers.read_wikiqa(f / "w.tsv"),
            _wikiqa_shape,
        ),
        "QABot": Format(folders, readers.read_question_folders, _folders_shape),
        "scored pairs": Format(
            {"p.csv": _sample("JAC-STS/JAC-sts-test.csv")},
            lambda f: readers.read_scored_pairs(f / "p.csv"),
            lambda files: (len(_lines(files["p.csv"])),),
        ),
        "STS Benchmark": Format(
            {"s.csv": _sample("stsbenchmark/sts-dev.csv")},
            lambda f: readers.read_stsbenchmark(f / "s.csv"),
            lambda files: (len(_lines(files["s.csv"])),),
        ),
        "zip": Format(_zipped(members), _read_zip, _unzipped_shape),
        "files in a zip": Format(members, _read_zip, _members_shape, _zipped),
        "Direct Assessments": Format(
            {"d.csv": _sample("WMT17/DA-seglevel.csv")},
            lambda f: list(readers.read_da_rows(f / "d.csv")),
            lambda files: (len(_lines(files["d.csv"])) - 1,),
        ),
        "text lines": Format(
            {"t.txt": _sample("wmt17/sources/newstest2017-ruen-src.ru")},
            lambda f: readers.read_text_lines(f / "t.txt"),
            lambda files: (len(_lines(files["t.txt"])),),
        ),
        "number lines": Format(
            {"n.txt": _sample("da-wmt16/tr-en/DAseg-newstest2016.human.tr-en")},
            lambda f: readers.read_number_lines(f / "n.txt"),
            lambda files: (len(_lines(files["n.txt"])),),
        ),
        "xls": Format(
            {"d.xls": _sample("dataset_JA_Clinical_STS.xls")},
            lambda f: readers.read_xls_pairs(f / "d.xls"),
            lambda files: (30,),
        ),
    }


def damaged(content: bytes, random: Random) -> bytes:
    """The content with one to three faults."""
    for _ in range(random.randint(1, 3)):
        content = random.choice(_FAULTS)(content, random)
    return content


def _place(content: bytes, random: Random) -> tuple[int, int]:
    start = random.randint(0, len(content))
    return start, min(len(content), start + random.choice((1, 2, 5, 20, 200)))


def _cut(content: bytes, random: Random) -> bytes:
    return content[: random.randint(0, len(content))]


def _without(content: bytes, random: Random) -> bytes:
    start, end = _place(content, random)
    return content[:start] + content[end:]


def _repeated(content: bytes, random: Random) -> bytes:
    start, end = _place(content, random)
    return content[:end] + content[start:]


def _another_byte(content: bytes, random: Random) -> bytes:
    start, _ = _place(content, random)
    return content[:start] + bytes([random.randint(0, 255)]) + content[start + 1 :]


def _inserted(content: bytes, random: Random) -> bytes:
    start, _ = _place(content, random)
    return content[:start] + random.choice(TOKENS) + content[start:]


def _another_field(content: bytes, random: Random) -> bytes:
    separator = random.choice((b"\t", b",", b" ", b"\n", b'"'))
    fields = content.split(separator)
    fields[random.randrange(len(fields))] = random.choice(TOKENS)
    return separator.join(fields)


def _other_lines(content: bytes, random: Random) -> bytes:
    lines = content.split(b"\n")
    first, second = random.randrange(len(lines)), random.randrange(len(lines))
    kind = random.randrange(3)
    if kind == 0:
        lines[first], lines[second] = lines[second], lines[first]
    elif kind == 1:
        lines.insert(first, lines[second])
    else:
        del lines[first]
    return b"\n".join(lines)


def _converted(content: bytes, random: Random) -> bytes:
    text = content.decode("utf-8", "replace")
    return random.choice(
        (
            content.replace(b"\n", b"\r\n"),
            b"\xef\xbb\xbf" + content,
            text.encode("utf-16"),
            text.encode("latin-1", "replace"),
            b"<!DOCTYPE html>\n" + content,
            content.rstrip(b"\n"),
            content + b"\n",
            b"",
        )
    )


_FAULTS = (
    *(_cut, _without, _without, _repeated, _another_byte, _another_byte, _inserted, _inserted),
    *(_another_field, _another_field, _other_lines, _other_lines, _converted),
)


def one_case(form: Format, folder: Path, random: Random) -> str:
    """Damage the sample, write and read it.

    Returns:
        ``"refused"`` or ``"read"``.

    Raises:
        FaultError: If the reader neither refuses the files nor reads them whole.
    """
    files = dict(form.files)
    name = random.choice(sorted(files))
    files[name] = damaged(files[name], random)
    for path, content in form.pack(files).items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_bytes(content)
    try:
        with _time_limit(SECONDS_A_CASE):
            content = form.read(folder)
            if isinstance(content, Pairs) or _is_questions(content):
                check_records(content)
    except DataError:
        return "refused"
    except _TooSlow:
        raise FaultError(f"not done after {SECONDS_A_CASE} seconds") from None
    except Exception as error:
        raise FaultError(f"{type(error).__name__}: {error}") from error
    expected = form.shape(files)
    if _shape(content) != expected or not expected[0]:
        raise FaultError(f"read {_shape(content)} rows, where there are {expected}")
    return "read"


def _is_questions(content: Any) -> bool:
    return isinstance(content, list) and any(isinstance(row, Question) for row in content)


def _shape(content: Any) -> tuple[int, ...]:
    return (len(content), sum(map(len, content))) if _is_questions(content) else (len(content),)


@contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    """Stop what takes more than so much of the processor's time."""

    def too_slow(*_: object) -> None:
        raise _TooSlow

    before = signal.signal(signal.SIGPROF, too_slow)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def main() -> None:
    """Run many cases of every format, and print how they went."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--cases", type=int, default=1000, help="of each format")
    parser.add_argument("--seed", type=int, default=0, help="of the first case")
    parser.add_argument("--only", choices=formats(), help="one format")
    arguments = parser.parse_args()
    print("| Format | Cases | Refused | Read | Faults | Slowest, CPU s | Memory, MB |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name, form in formats().items():
        if arguments.only in {None, name}:
            with tempfile.TemporaryDirectory() as folder:
                _report(
                    name,
                    form,
                    Path(folder),
                    range(arguments.seed, arguments.seed + arguments.cases),
                )


def _report(name: str, form: Format, folder: Path, seeds: range) -> None:
    outcomes: Counter[str] = Counter()
    slowest, memory = 0.0, 0.0
    for seed in seeds:
        if measured := seed % MEASURED == 0:
            tracemalloc.start()
        start = time.process_time()
        try:
            outcomes[one_case(form, folder, Random(seed))] += 1
        except FaultError as fault:
            outcomes["fault"] += 1
            print(f"FAULT: {name}, seed {seed}: {fault}", flush=True)
        if measured:
            memory = max(memory, tracemalloc.get_traced_memory()[1] / 1e6)
            tracemalloc.stop()
        else:
            slowest = max(slowest, time.process_time() - start)
    print(
        f"| {name} | {len(seeds):,} | {outcomes['refused']:,} | {outcomes['read']:,} "
        f"| {outcomes['fault']:,} | {slowest:.2f} | {memory:.1f} |",
        flush=True,
    )


if __name__ == "__main__":
    main()
