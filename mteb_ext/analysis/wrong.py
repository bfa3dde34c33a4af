"""What a run gets wrong: single pairs and queries, and the parts of the data that are hard."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mteb_ext.analysis.cells import Cell, find_runs, load_cells
from mteb_ext.analysis.folder import Folders, ResultsFolder
from mteb_ext.analysis.gold import PairGold
from mteb_ext.analysis.rows import SliceRow, WrongPairRow, WrongQueryRow, frame
from mteb_ext.analysis.slices import distances, slices_of_pairs, slices_of_queries, where
from mteb_ext.bases.candidates import RankedLists
from mteb_ext.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

SHOWN = 10
"""How many pairs or queries of a task are shown of each run."""


@dataclass(frozen=True)
class Wrong:
    """What runs get wrong on a task.

    Attributes:
        pairs: Rows of :class:`WrongPairRow`, the farthest first; empty for a ranking task.
        queries: Rows of :class:`WrongQueryRow`, the lowest first; empty for a task of pairs.
        slices: Rows of :class:`SliceRow`.
    """

    pairs: pd.DataFrame
    queries: pd.DataFrame
    slices: pd.DataFrame


def wrong_of(
    folders: Folders,
    name: str,
    models: Sequence[str] = (),
    *,
    shown: int = SHOWN,
    texts: bool = False,
) -> Wrong:
    """What runs get wrong on a task.

    Args:
        folders: Folders that hold prediction files.
        name: The task, of pairs or of candidate lists.
        models: Runs by their names; all that are found if left out.
        shown: How many pairs or queries of each run.
        texts: Whether to give texts. Those of data that is not public are never given.

    Raises:
        DataError: If there are no predictions of the task or of a model, or they do not fit.
    """
    folder = ResultsFolder.of(folders)
    files = find_runs(folder, name, fewest=1)[name]
    for model in models:
        if model not in files:
            raise DataError(
                f"{folder.names}: no predictions of {model} on {name}; of {', '.join(files)}."
            )
    files = {run: file for run, file in files.items() if run in (models or files)}
    return wrong_in(load_cells(folder, name, files).cells, shown=shown, texts=texts)


def wrong_in(cells: Sequence[Cell], *, shown: int = SHOWN, texts: bool = False) -> Wrong:
    """What the runs of a task's subsets get wrong; see :func:`wrong_of`."""
    pairs: list[WrongPairRow] = []
    queries: list[WrongQueryRow] = []
    slices: list[SliceRow] = []
    for run in cells[0].files:
        of_pairs: list[WrongPairRow] = []
        of_queries: list[WrongQueryRow] = []
        for cell in cells:
            with_texts = texts and bool(cell.task.metadata.is_public)
            if isinstance(cell.gold, PairGold):
                of_pairs += _wrong_pairs(cell, run, with_texts)
                slices += slices_of_pairs(cell, run)
            else:
                of_queries += _wrong_queries(cell, run, with_texts)
                slices += slices_of_queries(cell, run)
        pairs += sorted(of_pairs, key=lambda row: -abs(row.distance))[:shown]
        queries += sorted(of_queries, key=lambda row: (row.value, -row.right_rank))[:shown]
    return Wrong(frame(pairs, WrongPairRow), frame(queries, WrongQueryRow), frame(slices, SliceRow))


def _wrong_pairs(cell: Cell, run: str, texts: bool) -> Iterator[WrongPairRow]:
    assert isinstance(cell.gold, PairGold)
    gold, scores = cell.gold.of(cell.main), cell.scores_of(run, cell.main)
    held = [" | ".join(pair) for pair in cell.pair_texts()] if texts else [""] * gold.size
    found = distances(scores, gold, cell.main.coefficient)
    for row, (of_gold, score, distance) in enumerate(zip(gold, scores, found, strict=True)):
        yield WrongPairRow(
            *where(cell, run), str(row), float(of_gold), float(score), float(distance), held[row]
        )


def _wrong_queries(cell: Cell, run: str, texts: bool) -> Iterator[WrongQueryRow]:
    ranked = cell.lists(run)
    lists, main = ranked.lists, cell.main
    values = dict(zip(ranked.queries(main), ranked.values(main).tolist(), strict=True))
    query_texts = cell.query_texts() if texts else {}
    document_texts = cell.document_texts() if texts else {}
    for at, query in enumerate(lists.query_ids):
        if query not in values:
            continue
        first, right, rank = _first_and_right(ranked, at)
        found = lists.names[right] if rank else ""
        yield WrongQueryRow(
            *where(cell, run),
            id=query,
            metric=str(main),
            value=values[query],
            first=lists.names[first],
            first_score=float(ranked.scores[first]),
            right=found,
            right_score=float(ranked.scores[right]) if rank else math.nan,
            right_rank=rank,
            text=query_texts.get(query, ""),
            first_text=document_texts.get(lists.names[first], ""),
            right_text=document_texts.get(found, ""),
        )


def _first_and_right(ranked: RankedLists, at: int) -> tuple[int, int, int]:
    """Where the first and the best-scored relevant document of a query stand, and its rank."""
    lists = ranked.lists
    start, end = int(lists.offsets[at]), int(lists.offsets[at + 1])
    scores, relevant = ranked.scores[start:end], lists.grades[start:end] > 0
    first = int(np.lexsort((relevant, -scores))[0])
    if not relevant.any():
        return start + first, start + first, 0
    right = int(np.argmax(np.where(relevant, scores, -np.inf)))
    rank = 1 + int((~relevant & (scores >= scores[right])).sum())
    return start + first, start + right, rank
