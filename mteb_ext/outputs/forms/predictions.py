"""Prediction files, as mteb and this package write them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from mteb_ext.errors import DataError
from mteb_ext.formats.predictions import MODEL, OURS, dataset_revision
from mteb_ext.json_files import parse_json
from mteb_ext.outputs.forms.form import Form
from mteb_ext.outputs.rows import Outputs, Row, Text

_PAIRS = ("cosine_scores", "similarity_scores")


def _fits(text: Text) -> bool:
    return text.content.lstrip().startswith("{") and f'"{MODEL}"' in text.content


def _read(text: Text, split: str) -> Outputs:
    try:
        content = parse_json(text.content, parse_int=float)
    except ValueError as error:
        raise DataError(f"{text.origin} is no readable prediction file: {error}.") from error
    parts = _parts(text, content, split)
    keys = {key for part in parts.values() for key in part if key in _PAIRS}
    if len(keys) > 1:
        raise DataError(
            f"{text.origin} holds {' and '.join(sorted(keys))}. Leave the scores that count."
        )
    key = next(iter(keys), None)
    scores = (
        (subset, *found)
        for subset, part in parts.items()
        for found in (_candidates(part) if key is None else _pairs(part.get(key)))
    )
    rows = [
        Row(place, _number(text, place, value), item, subset)
        for place, (subset, item, value) in enumerate(scores, start=1)
    ]
    return Outputs(
        text.origin,
        "candidates" if key is None else "rows",
        rows,
        unit="row",
        key=key or _PAIRS[1],
        remarks=(f"the file names {content[MODEL].get('model_name')} as its model.",),
        dataset_revision=dataset_revision(content),
    )


def _parts(text: Text, content: object, split: str) -> dict[str, Mapping[str, Any]]:
    """What the file holds of a split, by subset."""
    if not isinstance(content, dict) or not isinstance(content.get(MODEL), dict):
        raise DataError(f"{text.origin} does not name the model of its predictions.")
    subsets = {name: held for name, held in content.items() if name not in {MODEL, OURS}}
    found = {
        subset: held[split]
        for subset, held in subsets.items()
        if isinstance(held, dict) and isinstance(held.get(split), dict)
    }
    if not found:
        splits = {name for held in subsets.values() if isinstance(held, dict) for name in held}
        raise DataError(
            f"{text.origin} has no predictions of {split}, but of {', '.join(sorted(splits))}."
        )
    return found


def _candidates(part: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], object]]:
    for query, documents in part.items():
        held = documents if isinstance(documents, dict) else {"": documents}
        for document, score in held.items():
            yield (query, document), score


def _pairs(scores: object) -> Iterator[tuple[tuple[str, ...], object]]:
    for score in scores if isinstance(scores, list) else [scores]:
        yield (), score


def _number(text: Text, place: int, value: object) -> float:
    if not isinstance(value, float) or not math.isfinite(value):
        raise DataError(f"{text.origin}, score {place}: {value!r:.40} is no finite number.")
    return value


PREDICTIONS = Form("mteb", "mteb's prediction file", _fits, _read)
