"""Where a task's descriptive statistics are: beside its module, and not inside mteb."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mteb.abstasks.task_metadata import TaskMetadata
from pydantic import PrivateAttr

if TYPE_CHECKING:
    from collections.abc import Mapping

FOLDER = "descriptive_stats"


class PaperMetadata(TaskMetadata):
    """mteb's metadata, with the statistics in ``descriptive_stats/NAME.json`` beside the task.

    mteb's own looks inside the mteb package, where nobody else's files belong.
    """

    _home: Path = PrivateAttr(default=Path())

    @classmethod
    def at(cls, home: Path, metadata: TaskMetadata) -> PaperMetadata:
        """The same metadata, whose statistics are in a folder of ``home``."""
        fields: Mapping[str, object] = dict(metadata)
        there = cls.model_construct(metadata.model_fields_set, **fields)
        there._home = home
        return there

    @property
    def descriptive_stat_path(self) -> Path:
        """The file of the statistics; it need not exist."""
        return self._home / FOLDER / f"{self.name}.json"
