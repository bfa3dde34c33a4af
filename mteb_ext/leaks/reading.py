"""Training data as a stream of texts: any number of files, of any size, in bounded memory."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from mteb_ext.errors import DataError
from mteb_ext.names import did_you_mean

logger = logging.getLogger(__name__)

COMPRESSIONS = {".gz": "gzip", ".zst": "zstd", ".zstd": "zstd"}
_BLOCK = 8 << 20  # bytes read at a time
_LONGEST = 64 << 20  # bytes of a line of JSON, and of a row of CSV
_ROWS = 1 << 16  # at most, of a table, at a time
_DATASET = "state.json"  # in the folder that datasets' save_to_disk makes

_Int: TypeAlias = npt.NDArray[np.int64]
_Texts: TypeAlias = tuple[pa.LargeStringArray, _Int]


@dataclass(frozen=True)
class Batch:
    """Some texts of a file.

    Attributes:
        texts: The texts, none of them null.
        records: (n,) the record (line, row) of the file that each text stands in, from 0 on. They
            do not fall, and no record is in two batches.
        bytes: How many bytes of the file have been read so far.
    """

    texts: pa.LargeStringArray
    records: _Int
    bytes: int


def training_files(paths: Sequence[Path]) -> list[Path]:
    """The files of training data: those that are named, and those in folders that are named.

    In a folder that ``datasets`` has saved, only the files that it lists count. In others, files of
    a kind that cannot be read are named by a logged warning.

    Raises:
        DataError: If something is neither a regular file nor a folder, of no known kind, or if a
            folder holds no training data.
    """
    files = [file for path in paths for file in ([path] if not path.is_dir() else _below(path))]
    for file in files:
        if not file.is_file():
            what = "is no regular file" if file.exists() else "does not exist"
            raise DataError(f"{file} {what}. Name files and folders of training data.")
        _reader(file)
    return list(dict.fromkeys(files))


def _below(folder: Path) -> list[Path]:
    found: list[Path] = []
    other: list[Path] = []
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        here = Path(place)
        if _DATASET in names:
            found += _saved_dataset(here)
            continue
        for name in sorted(names):
            if not name.startswith(".") and name != "dataset_dict.json":
                (found if _kind(here / name) in _READERS else other).append(here / name)
    if other:
        logger.warning(
            "%s: %d files are of no kind that can be read, and are left out (%s, for example).",
            folder,
            len(other),
            other[0],
        )
    if not found:
        raise DataError(f"{folder} holds no training data. {_KINDS}")
    return found


def _saved_dataset(folder: Path) -> list[Path]:
    """The files of a folder that ``datasets`` has saved.

    Raises:
        DataError: If its list of files is damaged.
    """
    try:
        state = json.loads((folder / _DATASET).read_text("utf-8"))
        return [folder / Path(file["filename"]).name for file in state["_data_files"]]
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(f"{folder / _DATASET} lists no files. Save the dataset again.") from error


def read_batches(path: Path, columns: Sequence[str] = ()) -> Iterator[Batch]:
    """Read a file's texts: all of its string columns, nested ones too.

    Args:
        path: The file. Its ending says what it is: text (a text a line), JSON lines, CSV, TSV,
            Parquet or Arrow; the first four may be compressed.
        columns: The columns wanted, by name; all where left out. A text file has none.

    Raises:
        DataError: If the file is damaged, is not what its ending says, or lacks a column.
    """
    with _named(path):
        yield from _reader(path)(path, columns)


@contextmanager
def _named(path: Path) -> Iterator[None]:
    try:
        yield
    except DataError as error:
        raise DataError(f"{path}: {error}") from error
    except (pa.ArrowException, OSError, EOFError, ValueError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise DataError(
            f"{path}: not readable as its ending says, or cut off: {reason:.300}. Fetch or write "
            "the file again, or leave it out."
        ) from error


def _kind(path: Path) -> str:
    name = path.name.lower()
    for ending in COMPRESSIONS:
        name = name.removesuffix(ending)
    return Path(name).suffix


def _reader(path: Path) -> Callable[[Path, Sequence[str]], Iterator[Batch]]:
    kind = _kind(path)
    packed = path.suffix.lower() in COMPRESSIONS
    if kind not in _READERS or (packed and kind in _BINARY):
        raise DataError(f"{path}: no kind of file that can be read. {_KINDS}")
    return _READERS[kind]


@contextmanager
def _opened(path: Path) -> Iterator[tuple[IO[bytes], Callable[[], int]]]:
    """A file's content, decompressed, and how many bytes of the file have been read."""
    with pa.OSFile(str(path), "rb") as file:
        compression = COMPRESSIONS.get(path.suffix.lower())
        stream = pa.CompressedInputStream(file, compression) if compression else file
        yield stream, file.tell
        if compression:
            stream.close()


# Text: a text a line.


def _read_text(path: Path, columns: Sequence[str]) -> Iterator[Batch]:
    with _opened(path) as (file, position):
        record = 0
        for block, ends in _line_blocks(file, cut=True):
            texts = _split_lines(block, record)
            count = len(texts)
            yield Batch(texts, np.arange(record, record + count), position())
            record += count if ends else count - 1


def _line_blocks(file: IO[bytes], *, cut: bool) -> Iterator[tuple[bytes, bool]]:
    """Blocks of whole lines, and whether they end with one.

    Args:
        file: The file.
        cut: Whether a line that is longer than a line may be is cut at a space.

    Raises:
        DataError: If a line is too long, and may not be cut.
    """
    rest = b""
    while block := file.read(_BLOCK):
        block = rest + block
        end = block.rfind(b"\n") + 1
        if end:
            yield block[:end], True
            rest = block[end:]
        elif len(block) < _LONGEST:
            rest = block
        elif cut:
            end = block.rfind(b" ") + 1
            if not end:
                raise DataError("a line has no space for 64 MB: it is no text. Leave it out.")
            yield block[:end], False
            rest = block[end:]
        else:
            raise DataError(
                "a line is longer than 64 MB: one record a line is expected. Turn an array into "
                "lines, as \"jq -c '.[]'\" does."
            )
    if rest:
        yield rest, True


def _split_lines(block: bytes, record: int) -> pa.LargeStringArray:
    """The lines of a block.

    Raises:
        DataError: If it is no UTF-8 text. The error counts lines from `record` on.
    """
    if b"\0" in block:
        line = record + block[: block.index(b"\0")].count(b"\n") + 1
        raise DataError(f"line {line} holds a NUL byte: it is no text. Leave the file out.")
    try:
        text = block.decode("utf-8")
    except UnicodeDecodeError as error:
        line = record + block[: error.start].count(b"\n") + 1
        raise DataError(
            f"line {line} is no UTF-8. Convert the file (iconv -t UTF-8), or leave it out."
        ) from error
    if not record:
        text = text.removeprefix("\ufeff")
    return pa.array(text.removesuffix("\n").split("\n"), pa.large_string())


# JSON lines: a record a line, ragged as such files are.


def _read_json_lines(path: Path, columns: Sequence[str]) -> Iterator[Batch]:
    with _opened(path) as (file, position):
        record = 0
        for block, _ in _line_blocks(file, cut=False):
            lines = _split_lines(block, record).to_pylist()
            texts: list[str] = []
            records: list[int] = []
            for number, line in enumerate(lines, start=record):
                if line.strip():
                    found = _texts_of(_json_record(line, number + 1, columns))
                    texts += found
                    records += [number] * len(found)
            yield Batch(_text_array(texts), np.array(records, np.int64), position())
            record += len(lines)


def _json_record(line: str, number: int, columns: Sequence[str]) -> object:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DataError(
            f"line {number} is no JSON. One record a line is expected: turn an array into lines, "
            "as \"jq -c '.[]'\" does."
        ) from error
    if not columns:
        return record
    held = record if isinstance(record, dict) else {}
    _check_columns(columns, held)
    return [held[name] for name in columns]


def _texts_of(value: object) -> list[str]:
    """The strings in a JSON value, at any depth; names of objects' members are none."""
    found: list[str] = []
    waiting = [value]
    while waiting:
        here = waiting.pop()
        if isinstance(here, str):
            found.append(here)
        elif isinstance(here, dict):
            waiting += reversed(here.values())
        elif isinstance(here, list):
            waiting += reversed(here)
    return found


def _text_array(texts: list[str]) -> pa.LargeStringArray:
    try:
        return pa.array(texts, pa.large_string())
    except UnicodeEncodeError:  # a half of a surrogate pair, escaped
        whole = [text.encode("utf-8", "replace").decode("utf-8") for text in texts]
        return pa.array(whole, pa.large_string())


# Tables.


def _read_csv(path: Path, columns: Sequence[str]) -> Iterator[Batch]:
    yield from _read_delimited(path, columns, delimiter=",", quote_char='"')


def _read_tsv(path: Path, columns: Sequence[str]) -> Iterator[Batch]:
    # Without quoting, as the field's files are; what is left of quotes does not count in a text.
    yield from _read_delimited(path, columns, delimiter="\t", quote_char=False)


def _read_delimited(
    path: Path, columns: Sequence[str], *, delimiter: str, quote_char: str | bool
) -> Iterator[Batch]:
    from pyarrow import csv

    ragged: list[str] = []

    def leave_out(row: Any) -> str:  # noqa: ANN401 - pyarrow's, of no public type
        ragged.append(row.text[:80] if not ragged else "")
        return "skip"

    parse = csv.ParseOptions(
        delimiter=delimiter,
        quote_char=quote_char,
        newlines_in_values=bool(quote_char),
        invalid_row_handler=leave_out,
    )
    read = csv.ReadOptions(block_size=_BLOCK, use_threads=False)
    with _opened(path) as (file, _):
        names = list(csv.open_csv(file, read_options=read, parse_options=parse).schema.names)
    _check_columns(columns, names)
    convert = csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.large_string()), include_columns=list(columns) or None
    )
    ragged.clear()
    with _opened(path) as (file, position):
        record = 0
        if not columns:  # a file without a header has its first row there
            yield Batch(pa.array(names, pa.large_string()), np.zeros(len(names), np.int64), 0)
        reader = csv.open_csv(file, read_options=read, parse_options=parse, convert_options=convert)
        for table in reader:
            yield _table_batch(table, record + 1, position())
            record += table.num_rows
    if ragged:
        logger.warning(
            "%s: %d rows have another number of cells than the first, and are left out.",
            path,
            len(ragged),
        )


def _read_parquet(path: Path, columns: Sequence[str]) -> Iterator[Batch]:
    from pyarrow import parquet

    with parquet.ParquetFile(str(path), memory_map=False, pre_buffer=False) as file:
        chosen = _text_columns(file.schema_arrow, columns)
        groups = [file.metadata.row_group(i) for i in range(file.num_row_groups)]
        size = sum(group.total_byte_size for group in groups)
        row = max(1, size // max(1, file.metadata.num_rows))
        record, total = 0, path.stat().st_size
        for table in file.iter_batches(max(1, min(_ROWS, _BLOCK // row)), columns=chosen):
            record += table.num_rows
            read = total * record // max(1, file.metadata.num_rows)
            yield _table_batch(table, record - table.num_rows, read)


def _read_arrow(path: Path, columns: Sequence[str]) -> Iterator[Batch]:
    with pa.memory_map(str(path)) as file:
        try:
            reader = pa.ipc.open_file(file)
            tables = (reader.get_batch(i) for i in range(reader.num_record_batches))
        except pa.ArrowInvalid:  # the form of a stream, which datasets writes
            file.seek(0)
            tables = reader = pa.ipc.open_stream(file)
        chosen = _text_columns(reader.schema, columns)
        record = 0
        for table in tables:
            for start in range(0, table.num_rows, _ROWS):
                part = table.select(chosen).slice(start, _ROWS)
                yield _table_batch(part, record + start, file.tell())
            record += table.num_rows


def _text_columns(schema: pa.Schema, columns: Sequence[str]) -> list[str]:
    _check_columns(columns, schema.names)
    return list(columns) or list(dict.fromkeys(schema.names))


def _check_columns(columns: Sequence[str], there: Sequence[str] | Mapping[str, object]) -> None:
    """See that there are the columns that are wanted.

    Raises:
        DataError: If not.
    """
    if missing := [name for name in columns if name not in there]:
        raise DataError(
            f"there is no column {missing[0]!r}; there are {', '.join(there)}."
            f"{did_you_mean(missing[0], there)}"
        )


def _table_batch(table: pa.RecordBatch, first: int, position: int) -> Batch:
    """The texts of a table, record by record."""
    rows = np.arange(first, first + table.num_rows)
    found = [part for column in table.columns for part in _strings(column, rows)]
    if not found:
        return Batch(pa.array([], pa.large_string()), np.empty(0, np.int64), position)
    texts = pa.concat_arrays([texts for texts, _ in found])
    records = np.concatenate([records for _, records in found])
    if len(found) > 1:
        order = np.argsort(records, kind="stable")
        texts, records = texts.take(pa.array(order)), records[order]
    return Batch(texts, records, position)


def _strings(column: pa.Array, rows: _Int) -> Iterator[_Texts]:
    """The strings of a column at any depth, each with the row that it stands in."""
    kind = column.type
    if isinstance(column, pa.ExtensionArray):
        yield from _strings(column.storage, rows)
    elif pa.types.is_dictionary(kind):
        yield from _strings(column.dictionary_decode(), rows)
    elif (
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    ):
        there = column.is_valid()
        texts = column.cast(pa.large_string()).filter(there)
        yield texts, rows[there.to_numpy(zero_copy_only=False)]
    elif pa.types.is_struct(kind):
        for part in column.flatten():
            yield from _strings(part, rows)
    elif pa.types.is_map(kind) or _is_list(kind):
        if pa.types.is_map(kind):
            column = column.cast(pa.list_(pa.struct([kind.key_field, kind.item_field])))
        parents = pc.list_parent_indices(column).to_numpy(zero_copy_only=False)
        yield from _strings(pc.list_flatten(column), rows[parents])


def _is_list(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    )


_READERS = {
    **dict.fromkeys((".txt", ".text"), _read_text),
    **dict.fromkeys((".jsonl", ".ndjson", ".json"), _read_json_lines),
    ".csv": _read_csv,
    ".tsv": _read_tsv,
    ".parquet": _read_parquet,
    **dict.fromkeys((".arrow", ".feather"), _read_arrow),
}
_BINARY = frozenset({".parquet", ".arrow", ".feather"})
_KINDS = (
    "The endings are .txt (a text a line), .jsonl, .json (JSON lines), .csv, .tsv, these with .gz "
    "or .zst behind, .parquet and .arrow. Rename or convert the file."
)
