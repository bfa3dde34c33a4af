"""The WMT metrics task's files of segment scores, ``METRIC.seg.score``."""

from __future__ import annotations

import re

from mteb_ext.errors import DataError
from mteb_ext.outputs.forms.form import Form
from mteb_ext.outputs.rows import Outputs, Row, Text

_LOOKS = "metric<TAB>pair<TAB>test set<TAB>system<TAB>segment<TAB>score"
_WIDTHS = (6, 8)  # two more columns say whether the metric is an ensemble, and where to get it


def _fits(text: Text) -> bool:
    columns = text.first.split("\t")
    return len(columns) in _WIDTHS and re.fullmatch("[a-z]{2,3}-[a-z]{2,3}", columns[1]) is not None


def _read(text: Text, split: str) -> Outputs:
    del split
    rows = []
    metrics: set[str] = set()
    for number, line in text.numbered():
        columns = line.split("\t")
        if len(columns) not in _WIDTHS or not re.fullmatch("[0-9]{1,9}", columns[4].strip()):
            raise text.fault(number, f"expected the columns '{_LOOKS}'.")
        metric, pair, test_set, system, segment, score = map(str.strip, columns[:6])
        metrics.add(metric)
        item = (test_set, system, str(int(segment)))
        rows.append(Row(number, text.number(score, number), item, pair))
    if len(metrics) > 1:
        raise DataError(
            f"{text.origin} holds the scores of {len(metrics)} metrics: "
            f"{', '.join(sorted(metrics)[:5])}. Give each a file and a name of its own."
        )
    return Outputs(text.origin, "segments", rows)


SEGMENT_SCORES = Form("seg-score", _LOOKS, _fits, _read)
