"""Outputs laid beside the candidate lists of a ranking task."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from mteb_ext.bases.task import DEFAULT_SUBSET
from mteb_ext.errors import DataError
from mteb_ext.outputs.faults import Faults
from mteb_ext.outputs.numbering import first_number, number_of
from mteb_ext.outputs.pairs import Matched
from mteb_ext.outputs.rows import Outputs, Row

if TYPE_CHECKING:
    from mteb_ext.bases import PaperRanking

_Find: TypeAlias = "Callable[[Row], tuple[str, str] | None]"
Ids: TypeAlias = Literal["names", "positions"]
"""What identifiers are: the dataset's own, or running numbers."""


@dataclass(frozen=True)
class _Query:
    """A query of the files.

    Attributes:
        name: Its identifier in the dataset.
        candidates: Its candidates' identifiers in the dataset.
        documents: Their identifiers in mteb's data; empty where the protocol leaves the query out.
    """

    name: str
    candidates: Sequence[str]
    documents: Sequence[str]

    def by_name(self) -> dict[str, str]:
        """The dataset's identifiers by every name that they go by.

        Where a dataset repeats its identifiers across queries, ours begin with the query.
        """
        short = {name.removeprefix(f"{self.name}/"): name for name in self.candidates}
        documents = dict(zip(self.documents, self.candidates, strict=False))
        return {**short, **documents, **dict(zip(self.candidates, self.candidates, strict=True))}


def match_rankings(
    task: PaperRanking, split: str, outputs: Outputs, ids: Ids, *, fill: bool
) -> Matched:
    """Give every candidate of every query its score.

    Queries that the protocol leaves out may be there, and do not count.

    Args:
        task: The task; its data is loaded.
        split: The split.
        outputs: The scores.
        ids: What the identifiers in the outputs are.
        fill: Whether a candidate without a score gets one below all others.

    Raises:
        DataError: If a query or candidate has no score and none is to be filled in, has two, or is
            not known.
    """
    name = task.metadata.name
    if outputs.kind == "segments" or any(
        row.subset not in {"", DEFAULT_SUBSET} for row in outputs.rows
    ):
        raise DataError(f"{outputs.origin} names subsets or segments, and {name} has neither.")
    queries = _queries(task, split)
    faults = Faults(f"{outputs.origin} does not fit {name} ({split})")
    scores = _Scores(queries, outputs, faults, ids).found()
    faults.check(_remedy(queries, outputs, ids))
    kept = {query.name: query for query in queries if query.documents}
    lowest = _below(list(scores.values())) if fill else 0.0
    n_missing = 0
    predictions: dict[str, dict[str, float]] = {}
    for query in kept.values():
        listed = predictions.setdefault(query.name, {})
        for candidate, document in zip(query.candidates, query.documents, strict=True):
            if (query.name, candidate) not in scores:
                n_missing += 1
                if not fill:
                    faults.add("candidates have no score", f"{query.name} {candidate}")
            listed[document] = scores.get((query.name, candidate), lowest)
    faults.check(
        "Score every candidate of every query; for a run that was cut on purpose, say --missing "
        "lowest."
    )
    remarks = list(outputs.remarks)
    if n_missing:
        remarks.append(f"{n_missing:,} candidates had no score, and stand below all others.")
    if n_other := sum(query not in kept for query, _ in scores):
        remarks.append(f"{n_other:,} scores are of queries that the protocol leaves out.")
    return Matched({DEFAULT_SUBSET: predictions}, n_missing, remarks)


def _queries(task: PaperRanking, split: str) -> list[_Query]:
    """The queries of the files in their order, those too that the protocol leaves out."""
    questions, _ = type(task).load(split)
    data = task.dataset[DEFAULT_SUBSET][split]
    documents: Mapping[str, Mapping[str, int]] = data["relevant_docs"]  # in the file's order
    return [
        _Query(question.id, question.candidate_ids, list(documents.get(question.id, ())))
        for question in questions
    ]


def _remedy(queries: Sequence[_Query], outputs: Outputs, ids: Ids) -> str:
    if outputs.kind == "rows":
        return "Give one score for every candidate, in the order of the data."
    known = next(query for query in queries if query.candidates)
    if ids == "positions":
        return (
            "Score each candidate once. With --ids positions a document is its place in its "
            "query's list, and a query its name or its place, both counted from 0 or from 1."
        )
    return (
        f"Score each candidate once. The dataset's identifiers look like {known.name} and "
        f"{known.candidates[0]}. For running numbers say --ids positions."
    )


class _Scores:
    """The scores of one file by query and candidate."""

    def __init__(
        self, queries: Sequence[_Query], outputs: Outputs, faults: Faults, ids: Ids
    ) -> None:
        self._queries = queries
        self._outputs = outputs
        self._faults = faults
        self._ids = ids

    def found(self) -> dict[tuple[str, str], float]:
        """The scores; faults are noted."""
        outputs = self._outputs
        if outputs.kind == "rows":
            items: Iterator[tuple[str, str] | None] = iter(self._in_order(len(outputs.rows)))
        elif outputs.kind == "ids":
            items = map(self._of_id(), outputs.rows)
        else:
            items = map(self._of_names(), outputs.rows)
        scores: dict[tuple[str, str], float] = {}
        for row, item in zip(outputs.rows, items, strict=False):
            where = f"{' '.join(row.item)} in {outputs.unit} {row.place}"
            if item is None:
                self._faults.add("scores are of an unknown query or candidate", where)
            elif item in scores:
                self._faults.add("scores are of a candidate that had one before", where)
            else:
                scores[item] = row.score
        return scores

    def _in_order(self, n: int) -> list[tuple[str, str]]:
        """The candidates that n scores are of: all of the files, or all that count."""
        every = [(query.name, name) for query in self._queries for name in query.candidates]
        kept = [
            (query.name, name)
            for query in self._queries
            if query.documents
            for name in query.candidates
        ]
        if n not in {len(every), len(kept)}:
            self._faults.add(
                "files have another number of scores",
                f"{n:,} for the {len(kept):,} candidates that count, of {len(every):,} in the data",
            )
        return every if n == len(every) else kept

    def _of_id(self) -> _Find:
        """Candidates by an identifier alone, which must stand for one."""
        if self._ids == "positions":
            items = self._in_order(len(self._outputs.rows))
            numbers = {number_of(row.item[0]) for row in self._outputs.rows} - {None}
            first = self._first({len(items): [n for n in numbers if n is not None]}) or 0
            by_number: dict[int | None, tuple[str, str]] = dict(enumerate(items, start=first))
            return lambda row: by_number.get(number_of(row.item[0]))
        by_name: dict[str, tuple[str, str]] = {}
        repeated: set[str] = set()
        for query in self._queries:
            for name in query.candidates:
                repeated |= {name} & by_name.keys()
                by_name[name] = (query.name, name)
        if repeated:
            raise DataError(
                f"{self._outputs.origin}: an identifier such as {min(repeated)} stands for several "
                "candidates. Name query and document in columns of their own."
            )
        return lambda row: by_name.get(row.item[0])

    def _of_names(self) -> _Find:
        if self._ids == "positions":
            return self._of_positions()
        queries = {query.name: query for query in self._queries}
        names = {query.name: query.by_name() for query in self._queries}

        def find(row: Row) -> tuple[str, str] | None:
            query, document = row.item
            candidate = names.get(query, {}).get(document)
            return (queries[query].name, candidate) if candidate else None

        return find

    def _of_positions(self) -> _Find:
        places: dict[str, set[int]] = {}
        for row in self._outputs.rows:
            number = number_of(row.item[1])
            places.setdefault(row.item[0], set()).update([] if number is None else [number])
        queries = self._numbered_queries(places)
        by_length: dict[int, set[int]] = {}
        for name, found in places.items():
            if name in queries:
                by_length.setdefault(len(queries[name].candidates), set()).update(found)
        first = self._first(by_length) or 0

        def find(row: Row) -> tuple[str, str] | None:
            query, number = queries.get(row.item[0]), number_of(row.item[1])
            if query is None or number is None or not 0 <= number - first < len(query.candidates):
                return None
            return query.name, query.candidates[number - first]

        return find

    def _numbered_queries(self, places: Mapping[str, Collection[int]]) -> Mapping[str, _Query]:
        """The queries by the names or numbers that the outputs have for them.

        Names may be numbers themselves. The reading counts that gives every query a list of the
        length that the outputs have for it.

        Args:
            places: The numbers of the documents of each query, as the outputs have them.
        """
        readings = [reading for reading in self._readings() if places.keys() <= reading.keys()]
        whole = [
            reading
            for reading in readings
            if all(len(reading[q].candidates) == len(found) for q, found in places.items())
        ]
        found = {tuple(reading[q].name for q in places): reading for reading in whole or readings}
        if len(found) > 1:
            raise DataError(
                f"{self._outputs.origin}: its numbers of queries could mean their names in the "
                "dataset or their places. Use the dataset's own identifiers."
            )
        if found:
            return next(iter(found.values()))
        n_kept = sum(bool(query.documents) for query in self._queries)
        raise DataError(
            f"{self._outputs.origin}: {len(places):,} queries are neither the dataset's own names "
            f"nor numbered without a gap. There are {len(self._queries):,} in the data, of which "
            f"{n_kept:,} count. Number all of either from 0 or from 1, or use the dataset's names."
        )

    def _readings(self) -> Iterator[Mapping[str, _Query]]:
        """What the outputs may call the queries; running numbers must have both ends."""
        yield {query.name: query for query in self._queries}
        asked = {row.item[0] for row in self._outputs.rows}
        for queries in (self._queries, [query for query in self._queries if query.documents]):
            for first in (0, 1):
                if {str(first), str(len(queries) - 1 + first)} <= asked:
                    yield {str(n): query for n, query in enumerate(queries, start=first)}

    def _first(self, numbers: Mapping[int, Collection[int]]) -> int | None:
        try:
            return first_number(numbers)
        except DataError as error:
            raise DataError(f"{self._outputs.origin}: {error}") from None


def _below(scores: Sequence[float]) -> float:
    """A score below all others, in float32 too, in which trec_eval compares."""
    lowest = np.nextafter(np.float32(min(scores, default=0.0)), np.float32(-np.inf))
    if not np.isfinite(lowest):
        raise DataError("there is no number below the lowest score. Give scores of usual size.")
    return float(lowest)
