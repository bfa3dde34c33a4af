"""Feed the readers damaged files: each is read whole, or refused with the package's own error.

Samples of data files, and of the files that runs leave behind, are damaged at random: cut, bytes
and lines removed, repeated, exchanged or inserted, the encoding or the line ends changed. A fault
is another exception than the package's own, a case that computes for longer than a few seconds, a
file that is left out in silence, or a parse with other rows than a second count by other means: for
data files the number of rows, for the others each value. What the readers accept was damaged too
(another letter in a sentence, say); that is for the fingerprint to find.

    python scripts/fuzz.py --cases 100000

prints a table, and each fault with the seed that repeats it (``--seed N --cases 1 --only FORMAT``).
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import json
import logging
import signal
import tempfile
import time
import tomllib
import tracemalloc
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from mteb_ext.analysis.folder import ResultsFolder
from mteb_ext.analysis.gold import PairGold, QueryGold
from mteb_ext.analysis.reading import load_results
from mteb_ext.data import readers
from mteb_ext.data.checks import check_records
from mteb_ext.data.records import Pairs, Question
from mteb_ext.errors import DataError, MtebExtError
from mteb_ext.formats.predictions import check_predictions
from mteb_ext.formats.stamp import read_stamp
from mteb_ext.measures import Measure
from mteb_ext.running.models import ModelSpec
from mteb_ext.running.plan import Options
from mteb_ext.running.plan_files import read_plan

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
    *(b"true", b"NaN", b"Infinity", b'""', b'"test"', b'"default"', b'"main_score": 1, '),
    *(b"[[models]]\n", b'"cosine_scores"', b"9" * 400, b"[" * 2000, b'{"a": ' * 2000),
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
        shape: The number of rows (for questions: of questions and of rows), counted by other means;
            or each value, read by other means.
        pack: What becomes of the damaged files before they are written: an archive, say.
    """

    files: Mapping[str, bytes]
    read: Callable[[Path], Any]
    shape: Callable[[Mapping[str, bytes]], tuple[Any, ...]]
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


class _Values(tuple[str, ...]):
    """What was read, value by value: compared with the second count as it is."""


def _values(found: Iterable[Any]) -> _Values:
    return _Values(sorted(map(repr, found)))


class _Members(list[tuple[str, Any]]):
    """A JSON object with all its members, those of one name too."""


def _json(content: bytes) -> Any:
    return json.loads(content, object_pairs_hook=_Members, parse_int=float)


def _member(value: Any, name: str) -> Any:
    (found,) = [part for key, part in value if key == name]
    return found


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every value inside, with the names that lead to it."""
    if isinstance(value, dict):
        value = _Members(value.items())
    if isinstance(value, _Members):
        for key, part in value:
            yield from _leaves(part, (*path, key))
    elif isinstance(value, (list, tuple)):
        for i, part in enumerate(value):
            yield from _leaves(part, (*path, i))
    else:
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        yield *path, float(str(value)) if number else value


@contextmanager
def _said() -> Iterator[list[str]]:
    """The messages that the package logs meanwhile."""
    said: list[str] = []
    handler, logger = logging.Handler(), logging.getLogger("mteb_ext")
    handler.emit = lambda record: said.append(record.getMessage())  # type: ignore[method-assign]
    logger.addHandler(handler)
    logger.propagate = False
    try:
        yield said
    finally:
        logger.removeHandler(handler)
        logger.propagate = True


_TRACKS = ("1-ar-ar", "2-ar-en", "3-es-es", "4a-es-en", "4b-es-en", "5-en-en")
_RESULT_FILE = "results/a__b/1/STS17SemEval.json"


def _result() -> bytes:
    entries = [
        {"hf_subset": track, "pearson": i / 8, "spearman": 0.5, "main_score": i / 8, "n": 3}
        | {"ci95_low": 0.25, "ci95_high": 0.75, "languages": ["eng-Latn"]}
        for i, track in enumerate(_TRACKS)
    ]
    content = {"dataset_revision": "1", "task_name": "STS17SemEval", "mteb_version": "2.26.24"}
    scores = {"test": entries}
    return json.dumps({**content, "scores": scores, "date": 1.5}, indent=1).encode()


def _read_results(folder: Path) -> _Values:
    with _said() as said:
        frame = load_results(folder)
    if frame.empty:
        if not any(_RESULT_FILE in line and "left out" in line for line in said):
            raise FaultError("a result is left out, and nothing is said")
        raise DataError(said[0])
    return _values(
        zip(frame["split"], frame["subset"], frame["metric"], frame["value"], strict=True)
    )


def _result_values(files: Mapping[str, bytes]) -> _Values:
    found = []
    for split, entries in _member(_json(files[_RESULT_FILE]), "scores"):
        mains = []
        for entry in entries:
            subset, main = _member(entry, "hf_subset"), _member(entry, "main_score")
            numbers = [
                (split, subset, key, value)
                for key, value in entry
                if isinstance(value, float)
                and not key.startswith(("main_score", "ci95_", "headline_ci95_", "num_queries"))
            ]
            if "pearson" not in [key for _, _, key, _ in numbers]:
                numbers.append((split, subset, "pearson", main))
            found += numbers
            mains.append(main)
        found.append((split, "", "pearson", sum(mains) / len(mains)))
    return _values(
        (_shown(split), _shown(subset), _shown(metric), value)
        for split, subset, metric, value in found
    )


def _shown(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


_QRELS = {"q1": {"d1": 1, "d2": 0, "d3": 0}, "q2": {"d1": 0, "d4": 1}}
_PAIR_GOLD = PairGold(np.arange(12.0))
_QUERY_GOLD = QueryGold(_QRELS, {name: list(grades) for name, grades in _QRELS.items()}, 0)
_PREDICTION_FILE = "WikiQA_predictions.json"


def _prediction(scores: Any) -> bytes:
    whose = {"mteb_model_meta": {"model_name": "a/b", "revision": "1"}}
    return json.dumps(
        {"default": {"test": scores}, **whose, "mteb_ext": {"dataset_revision": "1"}}
    ).encode()


def _read_predictions(folder: Path, scores: Callable[[Any], Any]) -> _Values:
    from mteb.models import ModelMeta

    meta = ModelMeta.create_empty(overwrites={"name": "a/b", "revision": "1"})
    with suppress(MtebExtError):  # another model's, say; it may be read all the same
        check_predictions(folder / _PREDICTION_FILE, meta, "1", "test", "default")
    with _said() as said:
        files = ResultsFolder(folder).all_predictions()
    if not files:
        if not any(_PREDICTION_FILE in line and "left out" in line for line in said):
            raise FaultError("predictions are left out, and nothing is said")
        raise DataError(said[0])
    (file,) = files
    parts = [(s, split, part) for s, by in file.scores.items() for split, part in by.items()]
    if [part[:2] for part in parts] != [("default", "test")]:
        raise DataError("there is no gold of that")
    return _values(scores(parts[0][2]).tolist())


def _prediction_values(files: Mapping[str, bytes]) -> _Values:
    scores = _member(_member(_json(files[_PREDICTION_FILE]), "default"), "test")
    similarities = ("similarity_scores", "cosine_scores")
    for name in similarities:  # the first of these, whatever else stands beside it
        if any(key == name and part is not None for key, part in scores):
            return _values(map(float, _member(scores, name)))
    return _values(
        float(path[-1]) for path in _leaves(_Members(s for s in scores if s[0] in _QRELS))
    )


_STAMP = {
    "data_fingerprints": {"test/default": "0"}, "protocol_version": "1", "result_sha256": None,
    "task": "WikiQA", "dataset_revision": "1", "protocol": None, "model": {"model": "a/b"},
    "model_name": "a/b", "model_revision": "1", "predictions_sha256": "0" * 64, "seconds": 1.5,
    "command": ["mteb-ext", "run"], "libraries": {"mteb": "2.26.24"}, "hardware": {"cpus": 2},
}  # fmt: skip

_PLAN = b"""\
tasks = ["WikiQA", "JACSTS"]
batch_size = 16
eval_splits = ["test"]
overwrite_strategy = "always"
predictions = false

[[models]]
model = "a/b"
revision = "1"
prompts = { query = "find: " }

[[models]]
model = "folder"
kind = "cross-encoder"
trust_remote_code = true
model_kwargs = { max_length = 128, x = { y = 1.5 } }
"""


def _read_plan(folder: Path) -> _Values:
    plan = read_plan(folder / "plan.toml")
    models = [_unlike(asdict(model), asdict(ModelSpec(""))) for model in plan.models]
    options = _unlike(asdict(plan.options), asdict(Options()))
    return _values(_leaves({"tasks": plan.tasks, **options, "models": models}))


def _plan_values(files: Mapping[str, bytes]) -> _Values:
    content = tomllib.loads(files["plan.toml"].decode())
    content["models"] = [_unlike(model, asdict(ModelSpec(""))) for model in content["models"]]
    return _values(_leaves(_unlike(content, asdict(Options()))))


def _unlike(values: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """What is not as where nothing is said."""
    return {
        key: value
        for key, value in values.items()
        if key not in defaults
        or (tuple(value) if isinstance(value, list) else value) != defaults[key]
    }


def _sample(name: str) -> bytes:
    return (SAMPLES / name).read_bytes()


def _of_lines(file: str, sample: str, read: Callable[[Path], Any], header: int = 0) -> Format:
    """One file that has a row a line."""
    return Format(
        {file: _sample(sample)},
        lambda folder: read(folder / file),
        lambda files: (len(_lines(files[file])) - header,),
    )


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
        "scored pairs": _of_lines("p.csv", "JAC-STS/JAC-sts-test.csv", readers.read_scored_pairs),
        "STS Benchmark": _of_lines("s.csv", "stsbenchmark/sts-dev.csv", readers.read_stsbenchmark),
        "zip": Format(_zipped(members), _read_zip, _unzipped_shape),
        "files in a zip": Format(members, _read_zip, _members_shape, _zipped),
        "Direct Assessments": _of_lines(
            "d.csv",
            "WMT17/DA-seglevel.csv",
            lambda path: list(readers.read_da_rows(path)),
            header=1,
        ),
        "text lines": _of_lines(
            "t.txt", "wmt17/sources/newstest2017-ruen-src.ru", readers.read_text_lines
        ),
        "number lines": _of_lines(
            "n.txt", "da-wmt16/tr-en/DAseg-newstest2016.human.tr-en", readers.read_number_lines
        ),
        "xls": Format(
            {"d.xls": _sample("dataset_JA_Clinical_STS.xls")},
            lambda f: readers.read_xls_pairs(f / "d.xls"),
            lambda files: (30,),
        ),
        "results": Format({_RESULT_FILE: _result()}, _read_results, _result_values),
        "predictions of pairs": Format(
            {_PREDICTION_FILE: _prediction({"cosine_scores": [i / 16 for i in range(12)]})},
            lambda f: _read_predictions(
                f, lambda p: _PAIR_GOLD.similarities(p, Measure("pearson"))
            ),
            _prediction_values,
        ),
        "predictions of candidates": Format(
            {_PREDICTION_FILE: _prediction({q: dict.fromkeys(d, 0.5) for q, d in _QRELS.items()})},
            lambda f: _read_predictions(f, lambda p: _QUERY_GOLD.lists(p).scores),
            _prediction_values,
        ),
        "stamps": Format(
            {"a.stamp": json.dumps(_STAMP, indent=1).encode()},
            lambda f: _values(_leaves(asdict(read_stamp(f / "a.stamp")))),
            lambda files: _values(
                _leaves(_Members([*_json(files["a.stamp"]), ("supplied", None)]))
            ),
        ),
        "plans": Format({"plan.toml": _PLAN}, _read_plan, _plan_values),
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
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    try:
        with _time_limit(SECONDS_A_CASE):
            content = form.read(folder)
            if isinstance(content, Pairs) or _is_questions(content):
                check_records(content)
    except FaultError:
        raise
    except MtebExtError:
        return "refused"
    except _TooSlow:
        raise FaultError(f"not done after {SECONDS_A_CASE} seconds") from None
    except Exception as error:
        raise FaultError(f"{type(error).__name__}: {error}") from error
    expected = form.shape(files)
    if _shape(content) != expected or not expected[0]:
        raise FaultError(f"read {_shape(content)} rows, where there are {expected}"[:400])
    return "read"


def _is_questions(content: Any) -> bool:
    return isinstance(content, list) and any(isinstance(row, Question) for row in content)


def _shape(content: Any) -> tuple[Any, ...]:
    if isinstance(content, _Values):
        return content
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
    parser.add_argument("--only", nargs="+", choices=formats(), help="some of the formats")
    arguments = parser.parse_args()
    print("| Format | Cases | Refused | Read | Faults | Slowest, CPU s | Memory, MB |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name, form in formats().items():
        if name in (arguments.only or [name]):
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
