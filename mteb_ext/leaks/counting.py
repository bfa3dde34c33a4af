"""Training data against tasks: which items were seen."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from mteb_ext.formats.leaks import Count, Leaks, SideSeen, SubsetSeen, TrainingFile
from mteb_ext.leaks.index import N_WORDS, NEAR, TestIndex
from mteb_ext.leaks.items import Item, TestSet
from mteb_ext.leaks.reading import Batch, read_batches

RULE = (
    "equal in letters, marks and digits (NFKC, case folded); near: at least "
    f"{NEAR:.0%} of the words in common sequences of {N_WORDS} words, or of characters in Japanese "
    "and Chinese"
)

NOT, NEARLY, EXACTLY = 0, 1, 2
_State = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Sighting:
    """Where a test text was first seen.

    Attributes:
        file: The training file.
        record: Its line or row, from 1 on.
        exact: Whether the texts are equal.
    """

    file: str
    record: int
    exact: bool


class Lookup:
    """Test sets, indexed once, that training data of any number of sources is looked up in."""

    def __init__(self, sets: Sequence[TestSet]) -> None:
        """Index the texts of test sets."""
        self.sets = sets
        texts = dict.fromkeys(
            text
            for found in sets
            for item in found.items
            for side in item.texts.values()
            for text in side
        )
        self.index = TestIndex(list(texts))
        self.number: Mapping[str, int] = dict(zip(texts, self.index.numbers.tolist(), strict=True))
        self.partners: dict[int, set[int]] = defaultdict(set)
        for found in sets:
            for item in found.items:
                for one, two in item.wholes:
                    first, second = self.number[one], self.number[two]
                    if min(first, second) >= 0:
                        self.partners[first].add(second)


class Seen:
    """What of the test sets has been seen in some training data.

    Attributes:
        sightings: Where each test text was first seen, by its number.
    """

    def __init__(self, lookup: Lookup) -> None:
        """Begin with nothing seen."""
        self._lookup = lookup
        self._texts: _State = np.zeros(lookup.index.size, np.uint8)
        self._wholes: dict[tuple[int, int], int] = {}
        self._files: list[TrainingFile] = []
        self.sightings: dict[int, Sighting] = {}

    def read(
        self,
        path: Path,
        columns: Sequence[str] = (),
        progress: Callable[[int], None] = lambda _: None,
    ) -> None:
        """Look a file's texts up.

        Args:
            path: The file.
            columns: See :func:`mteb_ext.leaks.reading.read_batches`.
            progress: Called with how many bytes of the file have been read.

        Raises:
            DataError: If it cannot be read.
        """
        count = 0
        for batch in read_batches(path, columns):
            self.take(batch, str(path))
            count += len(batch.texts)
            progress(batch.bytes)
        self._files.append(TrainingFile(name=path.name, bytes=path.stat().st_size, texts=count))

    def take(self, batch: Batch, file: str) -> None:
        """Look up the texts of a batch."""
        matches = self._lookup.index.matches(batch.texts)
        states = np.where(matches.exact, EXACTLY, NEARLY).astype(np.uint8)
        np.maximum.at(self._texts, matches.test, states)
        records = batch.records[matches.training]
        order = np.argsort(records, kind="stable")
        by_record: dict[int, dict[int, int]] = defaultdict(dict)
        triples = zip(
            records[order].tolist(),
            matches.test[order].tolist(),
            states[order].tolist(),
            strict=True,
        )
        for record, number, state in triples:
            held = self.sightings.get(number)
            if held is None or (state == EXACTLY and not held.exact):
                self.sightings[number] = Sighting(file, record + 1, state == EXACTLY)
            in_record = by_record[record]
            in_record[number] = max(state, in_record.get(number, NOT))
        for in_record in by_record.values():
            self._take_record(in_record)

    def _take_record(self, states: Mapping[int, int]) -> None:
        """See which whole items the texts of one record make."""
        for first, state in states.items():
            for second in self._lookup.partners.get(first, set()) & states.keys():
                both = min(state, states[second])
                self._wholes[first, second] = max(both, self._wholes.get((first, second), NOT))

    def leaks(self, model: str | None) -> Leaks:
        """What has been seen.

        Args:
            model: Whose training data it is; None where nobody said.
        """
        tasks = tuple(map(self._subset, self._lookup.sets))
        return Leaks(model=model, rule=RULE, training=tuple(self._files), tasks=tasks)

    def _subset(self, found: TestSet) -> SubsetSeen:
        any_text = [self._any_text(item) for item in found.items]
        ids = [item.id for item in found.items]
        counted = [s for s, item in zip(any_text, found.items, strict=True) if item.counts]
        return SubsetSeen(
            task=found.task,
            split=found.split,
            subset=found.subset,
            dataset_revision=found.dataset_revision,
            item=found.kind,
            items=len(found.items),
            any_text=_count(any_text),
            whole=_count(map(self._whole, found.items)),
            headline_items=len(counted),
            headline_any_text=_count(counted),
            sides=tuple(self._side(found, name) for name in (found.items[0].texts if ids else ())),
            exact_items=tuple(i for i, s in zip(ids, any_text, strict=True) if s == EXACTLY),
            near_items=tuple(i for i, s in zip(ids, any_text, strict=True) if s == NEARLY),
        )

    def _state(self, text: str) -> int:
        number = self._lookup.number[text]
        return NOT if number < 0 else int(self._texts[number])

    def _any_text(self, item: Item) -> int:
        return max((self._state(text) for side in item.texts.values() for text in side), default=0)

    def _whole(self, item: Item) -> int:
        number = self._lookup.number
        wholes = ((number[one], number[two]) for one, two in item.wholes)
        return max((self._wholes.get(whole, NOT) for whole in wholes), default=NOT)

    def _side(self, found: TestSet, name: str) -> SideSeen:
        """The distinct texts of a side; those that count as equal are one."""
        texts = {text for item in found.items for text in item.texts[name]}
        numbers = {self._lookup.number[text] for text in texts} - {-1}
        states = [int(self._texts[number]) for number in numbers]
        return SideSeen(name=name, texts=len(numbers), seen=_count(states))


def _count(states: Iterable[int]) -> Count:
    held = list(states)
    return Count(exact=held.count(EXACTLY), near=held.count(NEARLY))
