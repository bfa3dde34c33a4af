"""TREC runs, as trec_eval reads them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

from mteb_ext.outputs.forms.form import Form
from mteb_ext.outputs.rows import Outputs, Row, Text, is_number

_LOOKS = "query Q0 document rank score tag"


def _fits(text: Text) -> bool:
    columns = text.first.split()
    return len(columns) == 6 and _is_rank(columns[3]) and is_number(columns[4])


def _is_rank(column: str) -> bool:
    return re.fullmatch("[+-]?[0-9]+", column) is not None


def _read(text: Text, split: str) -> Outputs:
    del split
    rows = []
    ranked: dict[str, list[tuple[int, float]]] = {}
    for number, line in text.numbered():
        columns = line.split()
        if len(columns) != 6 or not _is_rank(columns[3]):
            raise text.fault(number, f"expected the six columns '{_LOOKS}'.")
        query, _, document, rank, value, _ = columns
        score = text.number(value, number)
        rows.append(Row(number, score, (query, document)))
        ranked.setdefault(query, []).append((int(rank), score))
    return Outputs(text.origin, "candidates", rows, remarks=_remarks(ranked))


def _remarks(ranked: Mapping[str, Sequence[tuple[int, float]]]) -> tuple[str, ...]:
    """What trec_eval would not say: it sorts by score, and never looks at a rank."""
    n = sum(_disagree(pairs) for pairs in ranked.values())
    if not n:
        return ()
    return (
        f"the ranks disagree with the scores in {n} of {len(ranked)} queries. The scores count, as "
        "in trec_eval.",
    )


def _disagree(pairs: Sequence[tuple[int, float]]) -> bool:
    """Whether a query's ranks order its documents, and not from the highest score down."""
    if len({rank for rank, _ in pairs}) < len(pairs):
        return False  # ranks that are all 0 say nothing
    scores = [score for _, score in sorted(pairs)]
    return any(after > before for before, after in pairwise(scores))


TREC = Form("trec", _LOOKS, _fits, _read)
