"""The parts of a subset: by length, overlap of characters, gold, genre, and by what is relevant."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from mteb_ext.analysis.cells import Cell
from mteb_ext.analysis.gold import PairGold
from mteb_ext.analysis.rows import SliceRow
from mteb_ext.bases.candidates import RankedLists
from mteb_ext.bases.sts import COEFFICIENTS
from mteb_ext.errors import UndefinedMetricError
from mteb_ext.metrics.significance import quick_correlation_interval

if TYPE_CHECKING:
    from numpy.typing import NDArray

_FEWEST = 10  # items of a part that is shown
_GRAM = 3  # characters: overlap in any script, with spaces between words or without


def where(cell: Cell, run: str) -> tuple[str, str, str, str]:
    """The first columns of a row."""
    return run, cell.task.metadata.name, cell.split, cell.subset


def distances(
    scores: NDArray[np.float64], gold: NDArray[np.float64], coefficient: str
) -> NDArray[np.float64]:
    """By how many standard deviations scores are above their gold, each in its own units.

    With population standard deviations, r = 1 - the mean of the squares / 2: the square is the
    pair's share in what the correlation lacks.

    Args:
        scores: ``(n,)`` scores that vary.
        gold: ``(n,)`` gold scores that vary.
        coefficient: ``pearson``, or ``spearman``, of which the units are ranks.
    """
    if coefficient == "spearman":
        scores, gold = stats.rankdata(scores), stats.rankdata(gold)
    found: NDArray[np.float64] = stats.zscore(scores) - stats.zscore(gold)
    return found


def slices_of_pairs(cell: Cell, run: str) -> Iterator[SliceRow]:
    """A run's correlation on the parts of a subset's pairs."""
    assert isinstance(cell.gold, PairGold)
    gold, scores, coefficient = (
        cell.gold.of(cell.main),
        cell.scores_of(run, cell.main),
        cell.main.coefficient,
    )
    shifts = distances(scores, gold, coefficient)
    texts = cell.pair_texts()
    lengths = np.array([len(first) + len(second) for first, second in texts])
    parted = {
        **({"part": cell.gold.parts} if cell.gold.parts else {}),
        "characters": _thirds(lengths, "{:.0f} to {:.0f}"),
        "overlap": _thirds(np.array([overlap(*pair) for pair in texts]), "{:.2f} to {:.2f}"),
        "gold": _thirds(gold, "{:.3g} to {:.3g}"),
    }
    for by, part, here in _large(parted):
        value = low = high = math.nan
        with suppress(UndefinedMetricError):
            if by != "gold":
                value = COEFFICIENTS[coefficient](scores[here], gold[here])
                low, high = quick_correlation_interval(scores[here], gold[here], coefficient)
        yield SliceRow(
            *where(cell, run),
            *(by, part, int(here.sum()), str(cell.main)),
            *(value, low, high, float(shifts[here].mean())),
        )


def slices_of_queries(cell: Cell, run: str) -> Iterator[SliceRow]:
    """A run's main score on the parts of a subset's queries."""
    ranked, main = cell.lists(run), cell.main
    values, queries = ranked.values(main), ranked.queries(main)
    parted = _parts_of_queries(cell, ranked, queries)
    for by, part, here in _large(parted):
        low, high = _student(values[here])
        value = float(values[here].mean())
        yield SliceRow(*where(cell, run), by, part, int(here.sum()), str(main), value, low, high)


def _student(values: NDArray[np.float64]) -> tuple[float, float]:
    """Student's 95% interval of a mean."""
    margin = float(stats.t.ppf(0.975, values.size - 1) * stats.sem(values))
    return float(values.mean()) - margin, float(values.mean()) + margin


def _parts_of_queries(
    cell: Cell, ranked: RankedLists, queries: Sequence[str]
) -> dict[str, Mapping[str, NDArray[np.bool_]]]:
    lists = ranked.lists
    at = {query: place for place, query in enumerate(lists.query_ids)}
    places = np.array([at[query] for query in queries])
    sizes = np.diff(lists.offsets)[places]
    n_right = np.array([(lists.judged[place] > 0).sum() for place in places])
    parted: dict[str, Mapping[str, NDArray[np.bool_]]] = {
        "relevant": {"one": n_right == 1, "several": n_right > 1},
        "candidates": _thirds(sizes, "{:.0f} to {:.0f}"),
    }
    if texts := cell.query_texts():
        documents = cell.document_texts()
        lengths = np.array([len(texts[query]) for query in queries])
        shared = [
            max(
                (overlap(texts[query], documents.get(name, "")) for name in _relevant(cell, query)),
                default=0.0,
            )
            for query in queries
        ]
        parted["characters"] = _thirds(lengths, "{:.0f} to {:.0f}")
        parted["overlap"] = _thirds(np.array(shared), "{:.2f} to {:.2f}")
    return parted


def _relevant(cell: Cell, query: str) -> list[str]:
    assert not isinstance(cell.gold, PairGold)
    return [name for name, grade in cell.gold.qrels[query].items() if grade > 0]


def _large(
    parted: Mapping[str, Mapping[str, NDArray[np.bool_]]],
) -> Iterator[tuple[str, str, NDArray[np.bool_]]]:
    for by, parts in parted.items():
        for part, here in parts.items():
            if here.sum() >= _FEWEST and len(parts) > 1:
                yield by, part, here


def _thirds(values: NDArray[Any], form: str) -> dict[str, NDArray[np.bool_]]:
    """Items in three parts of about the same size by a value; equal values are in one part.

    Args:
        values: ``(n,)`` the values.
        form: How the smallest and the largest value of a part are shown.
    """
    if not values.size:
        return {}
    cuts = np.unique(np.quantile(values, [1 / 3, 2 / 3], method="lower"))
    places = np.searchsorted(cuts, values)  # up to a cut and with it, beyond it
    parts = {}
    for place in np.unique(places):
        here = places == place
        parts[form.format(values[here].min(), values[here].max())] = here
    return parts


def overlap(first: str, second: str) -> float:
    """The share of the shorter text's distinct 3-grams of characters that the other has, 0 to 1."""
    grams = [_grams(first), _grams(second)]
    smaller = min(map(len, grams))
    return len(grams[0] & grams[1]) / smaller if smaller else 0.0


def _grams(text: str) -> set[str]:
    text = " ".join(text.casefold().split())
    return {text[i : i + _GRAM] for i in range(max(len(text) - _GRAM + 1, 0))}
