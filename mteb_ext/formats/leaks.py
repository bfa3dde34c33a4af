"""``leaks.json``: which test items of tasks stand in one model's training data.

The file holds counts and the items' places, never a text.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, NonNegativeInt, ValidationError

from mteb_ext.errors import DataError
from mteb_ext.files import write_whole
from mteb_ext.json_files import read_json

ENDING = "leaks.json"  # of the file's name: several models' files may lie in one folder
_LARGEST = 100 << 20  # bytes


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Count(_Part):
    """How many of something were seen.

    Attributes:
        exact: Those with an equal text in the training data.
        near: Those with a near match, and no equal text.
    """

    exact: NonNegativeInt
    near: NonNegativeInt

    @property
    def seen(self) -> int:
        """Those with either."""
        return self.exact + self.near


class SideSeen(_Part):
    """One side of the items, such as the candidates.

    Attributes:
        name: The side.
        texts: Its distinct texts.
        seen: Those that were seen.
    """

    name: str
    texts: NonNegativeInt
    seen: Count


class SubsetSeen(_Part):
    """What was seen of the items of one subset.

    Attributes:
        task: The task's name.
        split: The split.
        subset: The subset.
        dataset_revision: Which data it is.
        item: What an item is.
        items: How many there are in the data.
        any_text: Items with a text in the training data.
        whole: Items that stand in one training record: both sentences of a pair, or a question with
            one of its answers.
        headline_items: How many items the headline is over.
        headline_any_text: Those of them with a text in the training data.
        sides: The texts by side.
        exact_items: Which items have an equal text: questions' ids, or the rows of pairs.
        near_items: Which items have no equal text but a near one.
    """

    task: str
    split: str
    subset: str
    dataset_revision: str
    item: Literal["pair", "question"]
    items: NonNegativeInt
    any_text: Count
    whole: Count
    headline_items: NonNegativeInt
    headline_any_text: Count
    sides: tuple[SideSeen, ...]
    exact_items: tuple[str, ...]
    near_items: tuple[str, ...]


class TrainingFile(_Part):
    """A file of training data that was read.

    Attributes:
        name: Its name, without folders.
        bytes: Its size.
        texts: How many texts it holds.
    """

    name: str
    bytes: NonNegativeInt
    texts: NonNegativeInt


class Leaks(_Part):
    """What was found of tasks in training data.

    Attributes:
        model: Whose training data it is; None where nobody said.
        rule: What counts as seen.
        training: The files that were read.
        tasks: What was seen, by task, split and subset.
        digest: sha256 of all this, see :func:`digest_of`.
    """

    model: str | None
    rule: str
    training: tuple[TrainingFile, ...]
    tasks: tuple[SubsetSeen, ...]
    digest: str = ""


def digest_of(leaks: Leaks) -> str:
    """The sha256 of what a file says, its digest apart: an edited file shows."""
    content = leaks.model_dump_json(exclude={"digest"})
    return hashlib.sha256(content.encode()).hexdigest()


def write_leaks(path: Path, leaks: Leaks) -> None:
    """Write the file, with its digest.

    Raises:
        OSError: If it cannot be written.
    """
    signed = leaks.model_copy(update={"digest": digest_of(leaks)})
    write_whole(path, signed.model_dump_json(indent=1).encode() + b"\n")


def read_leaks(path: Path) -> Leaks:
    """Read the file.

    Raises:
        DataError: If it is damaged, or was edited.
    """
    again = "Run 'mteb-ext leak' again, or remove it."
    try:
        leaks = Leaks.model_validate(read_json(path, largest=_LARGEST))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the whole file"
        raise DataError(f"{path} is no leaks.json: {place}: {first['msg']}. {again}") from error
    except DataError as error:
        raise DataError(f"{path} is no leaks.json: {error} {again}") from error
    if leaks.digest != digest_of(leaks):
        raise DataError(f"{path} was edited: its digest is another. {again}")
    return leaks
