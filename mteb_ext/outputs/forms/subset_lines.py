"""Subset and score in each line, a subset's scores in the order of its rows."""

from __future__ import annotations

from mteb_ext.outputs.forms.form import Form
from mteb_ext.outputs.rows import Outputs, Row, Text, is_number

_LOOKS = "subset<TAB>score"


def _fits(text: Text) -> bool:
    columns = text.first.split("\t")
    return len(columns) == 2 and is_number(columns[1])


def _read(text: Text, split: str) -> Outputs:
    del split
    rows = []
    for number, line in text.numbered():
        columns = line.split("\t")
        if len(columns) != 2:
            raise text.fault(number, f"expected the two columns '{_LOOKS}'.")
        subset, score = columns
        rows.append(Row(number, text.number(score, number), subset=subset.strip()))
    return Outputs(text.origin, "rows", rows)


SUBSET_LINES = Form("subset-scores", _LOOKS, _fits, _read)
