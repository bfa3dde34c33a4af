"""What this machine's mteb knows of the tasks that results name."""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import TYPE_CHECKING

from mteb_ext.environment import DISABLE, is_set
from mteb_ext.errors import DataError
from mteb_ext.measures import Measure
from mteb_ext.plugin.lookup import find_task

if TYPE_CHECKING:
    from mteb.abstasks import AbsTask

logger = logging.getLogger(__name__)

PAPERS, MTEBS, SAMPLE, OTHER, UNKNOWN = "paper's", "mteb's", "sample", "another edition", "unknown"
"""The editions of the data: a paper's own; the one that mteb names for a task of its own; made-up
rows; none of these; a task that is not known here."""


def known_task(name: str) -> AbsTask | None:
    """The task of a name, or None, with a logged warning, where mteb does not know it here."""
    try:
        return find_task(name)
    except DataError as error:
        reason = "" if is_set(DISABLE) else "A plugin may be missing, or not be on MTEB_EXT_PATH. "
        logger.warning("%s %sResults are shown as they stand in the files.", error, reason)
        return None


def task_if_known(name: str) -> AbsTask | None:
    """The task of a name, or None where mteb does not know it here."""
    with suppress(DataError):
        return find_task(name)
    return None


def edition(task: AbsTask | None, revision: str) -> str:
    """Which edition of a task's data a dataset revision stands for."""
    from mteb_ext.bases import PaperTask

    if task is None:
        return UNKNOWN
    if revision != task.metadata.revision:
        return OTHER
    if not isinstance(task, PaperTask):
        return MTEBS
    return SAMPLE if revision == "sample" else PAPERS


def subsets_of(task: AbsTask | None, split: str) -> list[str] | None:
    """The subsets that a task has in a split; None where the task is not known here."""
    from mteb_ext.bases import PaperTask

    if task is None:
        return None
    if isinstance(task, PaperTask) and split in task.splits():
        return task.subsets(split)
    return list(task.metadata.hf_subsets)


def measure_in(task: AbsTask | None, split: str, subset: str, key: str) -> Measure | None:
    """The measure of a result key; None where the key names none of the task's.

    Args:
        task: The task; None where it is not known here.
        split: The split.
        subset: The subset.
        key: The key.
    """
    from mteb_ext.bases import PaperTask

    parts: list[str] = []
    if isinstance(task, PaperTask) and split in task.splits() and subset in task.subsets(split):
        parts = task.parts(split, subset)
    return Measure.find(key, parts)


def pairs_in(task: AbsTask | None, split: str, subset: str, measure: Measure) -> int | None:
    """How many pairs a correlation of the paper's data is over; None where that is not known."""
    from mteb_ext.bases import PaperSTS

    if not isinstance(task, PaperSTS):
        return None
    facts = task.protocol.facts.get(split, {}).get(subset)
    if facts is None:
        return None
    return {"": facts.pairs, **(facts.genres or {}), **facts.parts}.get(measure.part)
