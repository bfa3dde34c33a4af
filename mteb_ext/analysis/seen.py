"""What the ``leaks.json`` files in results folders say: which test items a model may have seen."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from mteb_ext.analysis.folder import ResultsFolder
from mteb_ext.errors import DataError
from mteb_ext.formats.leaks import SubsetSeen

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class SeenBy:
    """The test items of one subset that stand in the training data of a model.

    Attributes:
        model: The model; empty where the file names none.
        part: What was seen.
    """

    model: str
    part: SubsetSeen


def seen_in(folder: ResultsFolder) -> list[SeenBy]:
    """What all ``leaks.json`` files below folders say, by model and task.

    A file that is damaged, or was edited, is named by a logged warning and left out.
    """
    found = []
    for path in folder.leaks_paths():
        try:
            leaks = folder.leaks(path)
        except DataError as error:
            logger.warning("%s", error)
            continue
        found += [SeenBy(leaks.model or "", part) for part in leaks.tasks]
    return sorted(found, key=lambda one: (one.model, one.part.task))
