"""JSON lines: an object a line, with the keys of a table's header."""

from __future__ import annotations

from typing import Any

from mteb_ext.formats.predictions import MODEL
from mteb_ext.json_files import parse_json
from mteb_ext.outputs.columns import Columns, HeaderError
from mteb_ext.outputs.forms.form import Form
from mteb_ext.outputs.rows import Outputs, Text


def _fits(text: Text) -> bool:
    try:
        return MODEL not in _object(text, 1, text.first)
    except ValueError:
        return False


def _object(text: Text, number: int, line: str) -> dict[str, Any]:
    """The object in a line.

    Raises:
        ValueError: If there is none.
    """
    found = parse_json(line)
    if not isinstance(found, dict):
        raise ValueError("it holds no JSON object")  # noqa: TRY004 - as of any other line
    return found


def _read(text: Text, split: str) -> Outputs:
    del split
    rows = []
    columns, names = None, list[str]()
    for number, line in text.numbered():
        try:
            content = _object(text, number, line)
            if columns is None:
                names, columns = list(content), Columns.of(list(content))
            if set(content) != set(names):
                raise text.fault(number, "its keys are not those of the first line.")
            cells = ["" if content[name] is None else str(content[name]) for name in names]
        except (ValueError, HeaderError) as error:
            raise text.fault(number, f"{error}".rstrip(".") + ".") from error
        score = text.number(cells[columns.places["score"]], number)
        rows.append(columns.row(cells, number, score))
    assert columns is not None  # a text has a line
    return Outputs(text.origin, columns.kind, rows, remarks=columns.remarks)


JSON_LINES = Form("jsonl", '{"query": ..., "document": ..., "score": ...}', _fits, _read)
