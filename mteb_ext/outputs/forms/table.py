"""Tables with a header: CSV with quotes, or tab-separated without them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from mteb_ext.errors import DataError
from mteb_ext.outputs.columns import EXAMPLES, Columns, HeaderError
from mteb_ext.outputs.forms.form import Form
from mteb_ext.outputs.rows import Outputs, Text


def _fits(text: Text) -> bool:
    names = next(_records(Text(text.origin, text.first)), (0, []))[1]
    return "score" in [name.strip().casefold() for name in names]


def _read(text: Text, split: str) -> Outputs:
    del split
    try:
        records = _records(text)
        _, header = next(records)
        columns = Columns.of(header)
        rows = []
        for number, cells in records:
            if len(cells) != len(header):
                raise text.fault(number, f"{len(cells)} columns, and the header has {len(header)}.")
            score = text.number(cells[columns.places["score"]], number)
            rows.append(columns.row(cells, number, score))
    except HeaderError as error:
        raise text.fault(1, str(error)) from error
    except csv.Error as error:
        raise DataError(
            f"{text.origin} is no readable CSV ({error}). Write it with a CSV library, or "
            "tab-separated without quotes."
        ) from error
    if not rows:
        raise DataError(f"{text.origin} has a header and no scores.")
    return Outputs(text.origin, columns.kind, rows, remarks=columns.remarks)


def _records(text: Text) -> Iterator[tuple[int, list[str]]]:
    """The records, each with the number of its last line.

    Tabs separate where the first line has one; a quotation mark is then a character like any other.
    """
    if "\t" in text.first:
        for number, line in text.numbered():
            yield number, line.split("\t")
        return
    delimiter = ";" if ";" in text.first and "," not in text.first else ","
    source = io.StringIO(text.content, newline="")
    limit = csv.field_size_limit(len(text.content) + 1)  # a text may be long
    try:
        reader = csv.reader(source, delimiter=delimiter, strict=True)
        records = [(reader.line_num, record) for record in reader if record]
    finally:  # at once: the limit is the whole process's
        csv.field_size_limit(limit)
    yield from records


TABLE = Form("table", f"a header such as {EXAMPLES}", _fits, _read)
