"""The papers' own splits against each other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from mteb_ext.bases import PaperTask
from mteb_ext.errors import DataError
from mteb_ext.formats.leaks import SubsetSeen
from mteb_ext.leaks.counting import Lookup, Seen
from mteb_ext.leaks.items import TestSet, paper_set
from mteb_ext.leaks.reading import Batch
from mteb_ext.plugin.discovery import own_tasks


@dataclass(frozen=True)
class OwnLeak:
    """What one split of this package's data holds of the test items of a subset.

    Attributes:
        source: The split's task and its name.
        seen: What it holds.
    """

    source: str
    seen: SubsetSeen


def own_leaks() -> tuple[list[OwnLeak], list[str]]:
    """Look the texts of every evaluated split up in every other split.

    Returns:
        What was found, where anything was; and the tasks whose data is not here. Test splits of two
        tasks over the same sentences, whose every item is in both, are not set against each other.
    """
    tasks = [task for task in own_tasks() if issubclass(task, PaperTask)]
    sets: list[TestSet] = []
    missing = []
    for task in tasks:
        try:
            sets += [
                paper_set(task, split, subset)
                for split in task.splits()
                for subset in task.subsets(split)
            ]
        except DataError:
            missing.append(task.metadata.name)
    evaluated = {(t.metadata.name, split) for t in tasks for split in t.metadata.eval_splits}
    lookup = Lookup([found for found in sets if (found.task, found.split) in evaluated])
    return list(_found(lookup, sets)), missing


def _found(lookup: Lookup, sets: list[TestSet]) -> Iterator[OwnLeak]:
    for task, split in dict.fromkeys((found.task, found.split) for found in sets):
        seen = Seen(lookup)
        for found in sets:
            if (found.task, found.split) == (task, split):
                seen.take(as_training(found), task)
        for part in seen.leaks(None).tasks:
            same = part.any_text.seen == part.items and split == part.split
            if part.any_text.seen and not same:
                yield OwnLeak(f"{task} {split}", part)


def as_training(found: TestSet) -> Batch:
    """The items as training records: a pair each, or a question with one candidate."""
    texts: list[str] = []
    records: list[int] = []
    record = 0
    for item in found.items:
        first, second = item.texts.values()
        for other in second or first:
            texts += [*first, other]
            records += [record] * (len(first) + 1)
            record += 1
    return Batch(pa.array(texts, pa.large_string()), np.array(records, np.int64), 0)
