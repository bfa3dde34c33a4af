"""Outputs laid beside the pairs of an STS task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mteb_ext.bases.task import column
from mteb_ext.errors import DataError
from mteb_ext.outputs.faults import Faults
from mteb_ext.outputs.numbering import first_number, number_of
from mteb_ext.outputs.rows import Outputs, Row

if TYPE_CHECKING:
    from datasets import Dataset

    from mteb_ext.bases import PaperSTS

_COMPLETE = "Give one score for every row, in the order of the task."


@dataclass(frozen=True)
class Matched:
    """Outputs in the form of a task's prediction file.

    Attributes:
        predictions: What the file holds of the split, by subset.
        n_missing: How many items had no score and got the lowest one.
        remarks: What the user should know.
    """

    predictions: Mapping[str, Any]
    n_missing: int = 0
    remarks: Sequence[str] = field(default_factory=tuple)


def match_pairs(task: PaperSTS, split: str, outputs: Outputs, subset: str | None) -> Matched:
    """Give every pair of the subsets that the outputs are of its score.

    Args:
        task: The task; its data is loaded.
        split: The split.
        outputs: The scores.
        subset: The subset; None where the outputs name it, or are of all.

    Raises:
        DataError: If the outputs do not say which subset they are of, a pair has no score or two,
            or a score is of no pair.
    """
    if outputs.kind == "candidates":
        raise DataError(
            f"{outputs.origin} scores the documents of queries, and {task.metadata.name} has pairs."
        )
    matching = _Matching(task, split, outputs)
    predictions = {
        name: {outputs.key: matching.scores(name, rows)}
        for name, rows in matching.by_subset(subset).items()
    }
    matching.faults.check(_COMPLETE)
    return Matched(predictions, remarks=(*outputs.remarks, *matching.remarks))


class _Matching:
    """The matching of one file."""

    def __init__(self, task: PaperSTS, split: str, outputs: Outputs) -> None:
        self._task = task
        self._split = split
        self._outputs = outputs
        where = f"{outputs.origin} does not fit {task.metadata.name} ({split})"
        self.faults = Faults(where)
        self.remarks: list[str] = []

    def _data(self, subset: str) -> Dataset:
        dataset: Any = self._task.dataset
        return (dataset[subset] if self._task.metadata.is_multilingual else dataset)[self._split]

    def by_subset(self, chosen: str | None) -> dict[str, list[Row]]:
        """The scores by subset, in the task's order of them."""
        there = self._task.subsets(self._split)
        rows = self._outputs.rows
        if not any(row.subset for row in rows):
            return self._without_names(chosen, there)
        found: dict[str, list[Row]] = {}
        for row in rows:
            if row.subset in there:
                found.setdefault(row.subset, []).append(row)
            elif self._outputs.kind != "segments":  # a metric's file holds pairs of all languages
                self.faults.add("scores are of a subset that the task does not have", row.subset)
        self.faults.check(
            f"It has {', '.join(there)}. Identifiers and scores need a header: id<TAB>score."
        )
        if chosen is not None:
            found = {name: found[name] for name in found if name == chosen}
        if not found:
            raise DataError(
                f"{self._outputs.origin} has no scores of {chosen or ', '.join(there)}."
            )
        n_other = len(rows) - sum(map(len, found.values()))
        if n_other:
            self.remarks.append(f"{n_other:,} scores of other subsets do not count.")
        return {name: found[name] for name in there if name in found}

    def _without_names(self, chosen: str | None, there: Sequence[str]) -> dict[str, list[Row]]:
        rows = list(self._outputs.rows)
        if chosen is not None or len(there) == 1:
            return {chosen or there[0]: rows}
        sizes = {name: len(self._data(name)) for name in there}
        if self._outputs.kind != "rows" or len(rows) != sum(sizes.values()):
            counts = ", ".join(f"{name} {n:,}" for name, n in sizes.items())
            raise DataError(
                f"{self._outputs.origin} has {len(rows):,} scores, and does not say of which "
                f"subset of {self._task.metadata.name}: {counts}. Say --subset, or write the "
                "subset before each score."
            )
        found = {}
        for name, n in sizes.items():
            found[name], rows = rows[:n], rows[n:]
        return found

    def scores(self, subset: str, rows: Sequence[Row]) -> list[float]:
        """The scores of a subset in the order of its pairs; faults are noted."""
        if self._outputs.kind == "segments":
            return self._of_segments(subset, rows)
        if self._outputs.kind == "ids":
            rows = self._in_order(subset, rows)
        n = len(self._data(subset))
        if len(rows) != n:
            what = f"{len(rows):,} for the {n:,} pairs of {subset}"
            self.faults.add("subsets have another number of scores", what)
        elif rows and rows[0].texts:
            self._check_texts(subset, rows)
        return [row.score for row in rows]

    def _in_order(self, subset: str, rows: Sequence[Row]) -> list[Row]:
        """Rows in the order of their running numbers."""
        n, unit = len(self._data(subset)), self._outputs.unit
        numbers = [number_of(row.item[0]) for row in rows]
        try:
            first = first_number({n: [number for number in numbers if number is not None]})
        except DataError as error:
            raise DataError(f"{self._outputs.origin}: {error}") from None
        found: dict[int, Row] = {}
        for number, row in zip(numbers, rows, strict=True):
            if number is None or not 0 <= number - (first or 0) < n:
                self.faults.add(
                    f"identifiers are no running numbers of the {n:,} pairs of {subset}",
                    f"{row.item[0]!r} in {unit} {row.place}",
                )
            elif number in found:
                self.faults.add("pairs have two scores", f"{row.item[0]} in {unit} {row.place}")
            else:
                found[number] = row
        for number in range(first or 0, n + (first or 0)):
            if number not in found:
                self.faults.add("pairs have no score", f"{number} of {subset}")
        self.faults.check(_COMPLETE)
        return [found[number] for number in sorted(found)]

    def _check_texts(self, subset: str, rows: Sequence[Row]) -> None:
        data = self._data(subset)
        sides = [column(data, name).to_pylist() for name in ("sentence1", "sentence2")]
        for row, texts in zip(rows, zip(*sides, strict=True), strict=True):
            if tuple(map(str.strip, row.texts)) != tuple(map(str.strip, texts)):
                self.faults.add(
                    "rows hold other sentences than the task has there",
                    f"{self._outputs.unit} {row.place}",
                )

    def _of_segments(self, subset: str, rows: Sequence[Row]) -> list[float]:
        segments = self._task.segments(self._task.source, self._split, subset)
        if segments is None:
            raise DataError(
                f"{self._outputs.origin} scores segments of translations, and the rows of "
                f"{self._task.metadata.name} ({self._split}, {subset}) are known by their places "
                "only. Write one score a line in their order."
            )
        found = self._scores_of_segments(rows)
        scores, used, n_unlike = [], 0, 0
        for segment in segments:
            keys = [(segment.test_set, name, str(segment.number)) for name in segment.systems]
            values = [found[key] for key in keys if key in found]
            used += len(values)
            n_unlike += len(set(values)) > 1
            if values:
                scores.append(values[0])
            else:
                what = f"{'+'.join(segment.systems)} {segment.number} of {subset}"
                self.faults.add("segments have no score", what)
        if used < len(found):
            self.remarks.append(
                f"{len(found) - used:,} scores of {subset} are of segments that nobody judged, and "
                "do not count."
            )
        if n_unlike:
            self.remarks.append(
                f"{n_unlike} segments of {subset} that systems share have several scores; the one "
                "of the system that the task names first counts."
            )
        return scores

    def _scores_of_segments(self, rows: Sequence[Row]) -> dict[tuple[str, ...], float]:
        """The scores by test set, system and segment; each of joined systems has them."""
        found: dict[tuple[str, ...], float] = {}
        for row in rows:
            test_set, systems, number = row.item
            for system in systems.split("+"):
                key = (test_set, system, number)
                if key in found:
                    what = f"{system} {number} in {self._outputs.unit} {row.place}"
                    self.faults.add("segments have two scores", what)
                found[key] = row.score
        return found
