"""SharedEmbeddings: encode each text once for several tasks, on purpose."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np
from datasets import Dataset
from mteb.models import EncoderProtocol, SentenceTransformerEncoderWrapper
from mteb.models.abs_encoder import get_prompt
from mteb.models.instruct_wrapper import InstructSentenceTransformerModel
from sentence_transformers import SentenceTransformer

from mteb_ext.encoding.batches import by_tokens, only_texts
from mteb_ext.encoding.output import Vectors
from mteb_ext.encoding.scorer import quantised_to
from mteb_ext.errors import ProtocolError

if TYPE_CHECKING:
    from mteb.abstasks.task_metadata import TaskMetadata
    from mteb.models import ModelMeta
    from mteb.types import Array, BatchedInput, PromptType
    from torch.utils.data import DataLoader

_WITHOUT_EFFECT = frozenset({"batch_size", "show_progress_bar"})


class SharedEmbeddings:
    """An mteb encoder that encodes each text once for all tasks that it is evaluated on.

    Two tasks share the embedding of a text where the model reads it with the same prompt, on the
    same side (query, document or neither) and with the same options. That is known for mteb's own
    wrappers of sentence-transformers models; any other encoder may look at the task, and is asked
    anew each time. Do not train or change the model while it is wrapped: the embeddings are kept
    for as long as this object is.

    Example:
        >>> model = SharedEmbeddings(SentenceTransformer("all-MiniLM-L6-v2"))  # doctest: +SKIP
        >>> mteb.evaluate(model, mteb.get_benchmark("mteb-ext"))  # doctest: +SKIP
    """

    def __init__(self, model: EncoderProtocol | SentenceTransformer) -> None:
        """Wrap a model.

        Args:
            model: An mteb encoder or a ``SentenceTransformer``.

        Raises:
            ProtocolError: If it is neither.
        """
        if isinstance(model, SentenceTransformer):
            model = SentenceTransformerEncoderWrapper(model)
        if not isinstance(model, EncoderProtocol):
            raise ProtocolError(f"{type(model).__name__} is no encoder: it has no embeddings")
        self._model: Any = by_tokens(model)
        self._kept: dict[Hashable, _Kept] = {}

    @property
    def mteb_model_meta(self) -> ModelMeta:
        """The wrapped model's."""
        meta: ModelMeta = self._model.mteb_model_meta
        return meta

    def encode(
        self,
        inputs: DataLoader[BatchedInput],
        *,
        task_metadata: TaskMetadata,
        hf_split: str,
        hf_subset: str,
        prompt_type: PromptType | None = None,
        **kwargs: Any,
    ) -> Array:
        """Encode texts; see mteb's ``EncoderProtocol``.

        Returns:
            (n, d) embeddings, dense.
        """
        call = {
            "task_metadata": task_metadata,
            "hf_split": hf_split,
            "hf_subset": hf_subset,
            "prompt_type": prompt_type,
            **kwargs,
        }
        prompt = self._prompt(task_metadata, prompt_type)
        if prompt is None or not only_texts(inputs):
            found: Array = self._model.encode(inputs, **call)
            return found
        options = {name: repr(kwargs[name]) for name in sorted({*kwargs} - _WITHOUT_EFFECT)}
        kept = self._kept.setdefault((prompt_type, *prompt, *options.items()), _Kept())
        texts = [text for batch in inputs for text in batch["text"]]
        if missing := [text for text in dict.fromkeys(texts) if text not in kept.rows]:
            returned = self._model.encode(_loader(missing, inputs.batch_size), **call)
            quantised = quantised_to(self._model, kwargs) is not None
            kept.add(missing, Vectors(returned, len(missing), _place, quantised=quantised))
        return kept.vectors[[kept.rows[text] for text in texts]]

    def similarity(self, embeddings1: Array, embeddings2: Array) -> Array:
        """The wrapped model's."""
        found: Array = self._model.similarity(embeddings1, embeddings2)
        return found

    def similarity_pairwise(self, embeddings1: Array, embeddings2: Array) -> Array:
        """The wrapped model's."""
        found: Array = self._model.similarity_pairwise(embeddings1, embeddings2)
        return found

    def _prompt(
        self, task_metadata: TaskMetadata, prompt_type: PromptType | None
    ) -> tuple[str | None] | None:
        """The prompt that the model puts before texts of a task; None where that is not known."""
        encode = type(self._model).encode
        if encode is SentenceTransformerEncoderWrapper.encode:
            return (get_prompt(self._model.model_prompts, task_metadata, prompt_type),)
        if encode is InstructSentenceTransformerModel.encode:
            return (self._model.get_task_instruction(task_metadata, prompt_type),)
        return None


class _Kept:
    """The embeddings of distinct texts."""

    def __init__(self) -> None:
        self.rows: dict[str, int] = {}
        self.vectors = np.empty((0, 0), dtype=np.float32)

    def add(self, texts: list[str], new: Vectors) -> None:
        array = new.array if isinstance(new.array, np.ndarray) else new.array.toarray()
        self.vectors = np.concatenate([self.vectors, array]) if self.rows else array.copy()
        self.rows.update(zip(texts, range(len(self.rows), len(self.vectors)), strict=True))


def _place(row: int) -> str:
    return f"text {row} of the call"


def _loader(texts: list[str], batch_size: int | None) -> DataLoader[Any]:
    from torch.utils.data import DataLoader

    return DataLoader(Dataset.from_dict({"text": texts}), batch_size=batch_size)
