"""LexicalCrossEncoder: what the cross-encoders of this package have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np
from tqdm.auto import tqdm

from mteb_ext.baselines.meta import LexicalModel
from mteb_ext.errors import ProtocolError

if TYPE_CHECKING:
    from mteb.abstasks.task_metadata import TaskMetadata
    from mteb.types import BatchedInput, PromptType
    from numpy.typing import NDArray
    from torch.utils.data import DataLoader

__all__ = ["LexicalCrossEncoder"]

_Prepared = TypeVar("_Prepared")


class LexicalCrossEncoder(LexicalModel, ABC, Generic[_Prepared]):
    """A cross-encoder without parameters: it compares the words of two texts.

    A subclass says what is kept of a text, and how two of these compare. Each distinct text is
    prepared once per call of `predict`.
    """

    @abstractmethod
    def prepare(self, text: str) -> _Prepared:
        """What `score` needs to know of a text."""

    @abstractmethod
    def score(self, first: _Prepared, second: _Prepared) -> float:
        """Similarity of two prepared texts: higher is more alike."""

    def predict(
        self,
        inputs1: DataLoader[BatchedInput],
        inputs2: DataLoader[BatchedInput],
        *,
        task_metadata: TaskMetadata | None = None,
        hf_split: str = "",
        hf_subset: str = "",
        prompt_type: PromptType | None = None,
        **kwargs: object,
    ) -> NDArray[np.float64]:
        """Score text pairs.

        Args:
            inputs1: Batches with n texts under ``"text"``.
            inputs2: Batches with n texts under ``"text"``.
            task_metadata: The task; without effect, like all the arguments that follow it but one.
            hf_split: The task's split.
            hf_subset: The task's subset.
            prompt_type: Query or document.
            **kwargs: ``show_progress_bar`` (on unless false); other models' options.

        Returns:
            (n,) scores.

        Raises:
            ProtocolError: If a batch has no texts, or the two sides differ in length.
        """
        first, second = _texts(inputs1), _texts(inputs2)
        if len(first) != len(second):
            raise ProtocolError(f"{len(first)} first texts, but {len(second)} second ones")
        name = type(self).__name__
        hide = not kwargs.get("show_progress_bar", True)
        distinct = dict.fromkeys([*first, *second])
        prepared = {
            text: self.prepare(text)
            for text in tqdm(distinct, desc=f"{name}: texts", unit="text", disable=hide, delay=1)
        }
        pairs = tqdm(
            zip(first, second, strict=True),
            desc=f"{name}: pairs",
            unit="pair",
            total=len(first),
            disable=hide,
            delay=1,
        )
        scores = (self.score(prepared[left], prepared[right]) for left, right in pairs)
        return np.fromiter(scores, dtype=np.float64, count=len(first))


def _texts(inputs: DataLoader[BatchedInput]) -> list[str]:
    texts: list[str] = []
    for batch in inputs:
        found = batch.get("text")
        if found is None:
            raise ProtocolError(
                f"a lexical model compares texts, but the batch has {', '.join(sorted(batch))}"
            )
        texts.extend(found)
    return texts
