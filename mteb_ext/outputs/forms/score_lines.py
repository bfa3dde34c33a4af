"""One score a line, in the order of the task's rows."""

from __future__ import annotations

from mteb_ext.outputs.forms.form import Form
from mteb_ext.outputs.rows import Outputs, Row, Text, is_number


def _fits(text: Text) -> bool:
    return is_number(text.first)


def _read(text: Text, split: str) -> Outputs:
    del split
    rows = [Row(number, text.number(line, number)) for number, line in text.numbered()]
    return Outputs(text.origin, "rows", rows)


SCORE_LINES = Form("scores", "score", _fits, _read)
