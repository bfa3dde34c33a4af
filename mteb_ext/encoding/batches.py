"""Batches by tokens: a model computes the tokens that are there, and hardly any padding.

sentence-transformers sorts texts by their characters, and pads each batch to its longest text in
tokens. Characters say little about tokens where languages, scripts or numbers mix. Here the model's
own tokenizer counts first, and the model is then called for texts of like count.

A batch holds as many texts as the user asks for. Embeddings differ from those of a plain call by
rounding only, since a text is the same tokens in any batch. Models that pad nothing, and calls
whose result depends on all of their texts, are left alone.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
from mteb.models import (
    CrossEncoderWrapper,
    MultiVectorWrapper,
    SentenceTransformerEncoderWrapper,
    SparseEncoderWrapper,
)
from mteb.models.instruct_wrapper import InstructSentenceTransformerModel
from tqdm.auto import tqdm

if TYPE_CHECKING:
    from mteb.types import Array, BatchedInput, QueryDatasetType, RetrievalOutputType
    from torch.utils.data import DataLoader

Rows: TypeAlias = npt.NDArray[np.intp]
Counts: TypeAlias = npt.NDArray[np.int64]
Inputs: TypeAlias = Sequence[str] | Sequence[tuple[str, str]]
Model = TypeVar("Model")

_BATCH_SIZE = 32  # sentence-transformers' own default
_TOKENS_A_BATCH = 64  # a batch costs so many beside its own, on a CPU: its layers, its tokenizing
_BATCHES_A_CALL = 16  # what a call returns may stay on the device until the next is under way
_BATCHES_A_WINDOW = 1024  # so many are sorted at a time where a wrapper goes batch by batch
_ENCODERS = (
    SentenceTransformerEncoderWrapper.encode,
    InstructSentenceTransformerModel.encode,
    SparseEncoderWrapper.encode,
)
# The methods of a sentence-transformers model, and the prompts that each looks for unasked.
_PROMPTS: Mapping[str, tuple[str, ...]] = {
    "encode": (),
    "encode_query": ("query",),
    "encode_document": ("document", "passage", "corpus"),
    "predict": (),
}


def by_tokens(model: Model) -> Model:
    """A model that reads its texts in batches of like token counts.

    Args:
        model: A model of mteb's kind. It is left as it is.

    Returns:
        For mteb's own wrappers of sentence-transformers models a twin, which shares the inner
        model; any other model as it is.
    """
    inner = getattr(model, "model", None)
    if _class_of(inner) is None or not hasattr(inner, "preprocess"):
        return model
    kind = type(model)
    twin: Any = model
    if getattr(kind, "encode", None) in _ENCODERS:
        twin = copy(model)
        twin.model = _Reader(inner)
    elif getattr(kind, "predict", None) is CrossEncoderWrapper.predict:
        twin = _CrossEncoder(model)
    elif getattr(kind, "search", None) is MultiVectorWrapper.search:
        twin = _MultiVector(model)
    return twin  # type: ignore[no-any-return]


def only_texts(inputs: DataLoader[BatchedInput]) -> bool:
    """Whether a data loader gives texts, and nothing to look at or to listen to."""
    columns = set(getattr(inputs.dataset, "column_names", ()))
    return "text" in columns and not columns & {"image", "audio", "video"}


def token_counts(model: Any, inputs: Inputs, chunk: int, **reading: Any) -> Counts | None:  # noqa: ANN401
    """Count the tokens of texts, or of pairs of texts, as a model reads them.

    Args:
        model: A sentence-transformers model.
        inputs: n texts or pairs, at least one.
        chunk: So many are read at a time.
        reading: What the model's ``preprocess`` takes beside them: the prompt, for one.

    Returns:
        (n,) counts after truncation, prompt and special tokens included. None where the model pads
        nothing: it joins the texts of a batch into one row, or has no batches of tokens.
    """
    counts = []
    for start in range(0, len(inputs), chunk):
        part = inputs[start : start + chunk]
        mask = model.preprocess(part, **reading).get("attention_mask")
        if mask is None or mask.ndim != 2 or len(mask) != len(part):
            return None
        counts.append(mask.sum(dim=1).cpu().numpy())
    return np.concatenate(counts)


def calls_of(counts: Counts, batch_size: int) -> list[Rows]:
    """Cut texts into calls, each of which a model cuts into batches.

    The longest come first. Batches of one token count share a call, in which any order is as good.

    Args:
        counts: (n,) tokens of each text, at least one.
        batch_size: The most texts of a batch.

    Returns:
        The rows of the texts of each call.
    """
    order = np.argsort(-counts, kind="stable")
    calls: list[Rows] = []
    for batch in np.split(order, _cuts(counts[order], batch_size)):
        alike = bool(calls) and counts[calls[-1][0]] == counts[batch[0]] == counts[batch[-1]]
        if alike and len(calls[-1]) + len(batch) <= _BATCHES_A_CALL * batch_size:
            calls[-1] = np.concatenate([calls[-1], batch])
        else:
            calls.append(batch)
    return calls


def _cuts(lengths: Counts, batch_size: int) -> list[int]:
    """Where to cut texts in falling order of length, so that the batches cost least.

    A batch costs its tokens with padding, and a constant. Dynamic programming over the texts finds
    the cuts. No batch is larger, in tokens with padding, than the largest of the batches that are
    full but for the first; and of these no order of the texts has a smaller largest one, so that
    the memory is bounded as in a plain call.
    """
    n = len(lengths)
    first = n % batch_size or batch_size
    most = max(first * lengths[0], batch_size * lengths[first] if first < n else 0)
    texts = np.arange(batch_size, 0, -1)
    cost = np.zeros(n + 1)
    start = np.zeros(n + 1, dtype=np.intp)
    for end in range(1, n + 1):
        low = max(0, end - batch_size)
        padded = texts[low - end :] * lengths[low:end]
        whole = np.where(padded <= most, cost[low:end] + padded + _TOKENS_A_BATCH, np.inf)
        start[end] = low + whole.argmin()
        cost[end] = whole[start[end] - low]
    cuts = [int(start[n])]
    while cuts[-1] > 0:
        cuts.append(int(start[cuts[-1]]))
    return cuts[-2::-1]


class _Reader:
    """Stands for a sentence-transformers model inside mteb's wrapper, and calls it by tokens."""

    def __init__(self, model: Any, batches: int = 1, progress: bool | None = None) -> None:  # noqa: ANN401
        """Stand for a model.

        Args:
            model: The model.
            batches: What the caller takes for one batch is so many of the user's.
            progress: Whether to show a progress bar, where the caller itself asks for none.
        """
        self._model = model
        self._batches = batches
        self._progress = progress

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        if name == "_model":  # while it is being copied
            raise AttributeError(name)
        return getattr(self._model, name)

    def encode(self, inputs: Inputs, **options: Any) -> Any:  # noqa: ANN401
        return self._called("encode", inputs, options)

    def encode_query(self, inputs: Inputs, **options: Any) -> Any:  # noqa: ANN401
        return self._called("encode_query", inputs, options)

    def encode_document(self, inputs: Inputs, **options: Any) -> Any:  # noqa: ANN401
        return self._called("encode_document", inputs, options)

    def predict(self, inputs: Inputs, **options: Any) -> Any:  # noqa: ANN401
        return self._called("predict", inputs, options)

    def _called(self, method: str, inputs: Inputs, options: dict[str, Any]) -> Any:  # noqa: ANN401
        call = getattr(self._model, method)
        size = options.get("batch_size", _BATCH_SIZE) // self._batches
        options["batch_size"] = size
        counts = None
        if len(inputs) > size and _is_each_by_itself(inputs, options):
            reading = _reading(self._model, method, options)
            counts = token_counts(self._model, inputs, size, **reading)
        if counts is None:
            return call(inputs, **options)
        progress = self._progress or options.get("show_progress_bar")
        options, finish = _finishing(self._model, {**options, "show_progress_bar": False})
        calls = calls_of(counts, size)
        parts: list[Any] = []
        for rows in tqdm(calls, desc="Batches by tokens", disable=not progress, delay=1):
            parts.append(call([inputs[row] for row in rows], **options))
            # A call before is waited for only now: while a graphics card computes it, the texts of
            # the next are tokenized.
            parts[-2:-1] = map(finish, parts[-2:-1])
        parts[-1] = finish(parts[-1])
        return _in_order(parts, calls)


class _CrossEncoder(CrossEncoderWrapper):
    """mteb's cross-encoder with batches of pairs by tokens."""

    def __init__(self, wrapper: Any) -> None:  # noqa: ANN401
        vars(self).update(vars(wrapper))

    def predict(
        self, inputs1: DataLoader[BatchedInput], inputs2: DataLoader[BatchedInput], **options: Any
    ) -> Array:
        """As mteb's, which reads a batch of the data loaders at a time: here many at once."""
        if not (only_texts(inputs1) and only_texts(inputs2)):
            return super().predict(inputs1, inputs2, **options)
        inside = copy(self)
        inside.model = _Reader(self.model, progress=options.get("show_progress_bar", True))
        windows = (_windows(inputs) for inputs in (inputs1, inputs2))
        return CrossEncoderWrapper.predict(
            inside, *windows, **{**options, "show_progress_bar": False}
        )


class _MultiVector(MultiVectorWrapper):
    """mteb's multi-vector encoder with batches by tokens."""

    def __init__(self, wrapper: Any) -> None:  # noqa: ANN401
        vars(self).update(vars(wrapper))

    def search(
        self, queries: QueryDatasetType, *, encode_kwargs: Mapping[str, Any], **rest: Any
    ) -> RetrievalOutputType:
        """As mteb's, which encodes a batch at a time, by characters: here many at once."""
        inside: Any = copy(self)
        progress = encode_kwargs.get("show_progress_bar", True)
        inside.model = _Reader(self.model, _BATCHES_A_WINDOW, progress)
        size = encode_kwargs.get("batch_size", _BATCH_SIZE) * _BATCHES_A_WINDOW
        options: Any = {**encode_kwargs, "batch_size": size, "show_progress_bar": False}
        found = MultiVectorWrapper.search(inside, queries, encode_kwargs=options, **rest)
        self.task_corpus = None
        return found


def _class_of(model: object) -> type[Any] | None:
    """Which of sentence-transformers' four kinds a model is; None for any other object."""
    library = sys.modules.get("sentence_transformers")  # without it there is no such model
    names = ("SentenceTransformer", "SparseEncoder", "CrossEncoder", "MultiVectorEncoder")
    kinds = [kind for name in names if (kind := getattr(library, name, None))]
    return next((kind for kind in kinds if isinstance(model, kind)), None)


def _is_each_by_itself(inputs: Inputs, options: Mapping[str, Any]) -> bool:
    """Whether what a text gets does not depend on the others, nor on how they are shared out."""
    import torch

    texts = chain.from_iterable((text,) if isinstance(text, str) else text for text in inputs)
    return (
        isinstance(inputs, list)
        and all(isinstance(text, str) for text in texts)
        and options.get("precision") in {None, "float32"}  # others take their ranges from all texts
        and options.get("pool") is None
        and not isinstance(options.get("device"), list)
        and not (torch.distributed.is_available() and torch.distributed.is_initialized())
        and not {"output_value", "convert_to_numpy"} & options.keys()
    )


def _reading(model: Any, method: str, options: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ANN401
    """What a call hands on to the model's ``preprocess``."""
    kind: Any = _class_of(model)
    own = inspect.signature(getattr(kind, "predict" if method == "predict" else "encode"))
    reading = {name: value for name, value in options.items() if name not in own.parameters}
    unasked = next((name for name in _PROMPTS[method] if name in model.prompts), None)
    name = options.get("prompt_name") or unasked or model.default_prompt_name
    prompt = options.get("prompt")
    reading["prompt"] = model.prompts.get(name) if prompt is None else prompt
    if _PROMPTS[method]:
        reading["task"] = method.removeprefix("encode_")
    return reading


def _finishing(
    model: Any,  # noqa: ANN401
    options: dict[str, Any],
) -> tuple[dict[str, Any], Callable[[Any], Any]]:
    """The options that let a call return before it is computed, and what to make of its result."""
    kind: Any = _class_of(model)
    if kind.__name__ == "MultiVectorEncoder":
        return options, lambda vectors: [vector.cpu() for vector in vectors]
    if kind.__name__ == "SparseEncoder" or options.get("convert_to_tensor"):
        return options, lambda rows: rows
    return {**options, "convert_to_tensor": True}, _to_numpy


def _to_numpy(rows: Any) -> Any:  # noqa: ANN401 - a tensor
    import torch

    return (rows.float() if rows.dtype == torch.bfloat16 else rows).cpu().numpy()


def _in_order(parts: Sequence[Any], calls: Sequence[Rows]) -> Any:  # noqa: ANN401 - as the parts
    """Put what the calls returned into the order of the texts."""
    import torch

    rows = np.concatenate(calls)
    if isinstance(parts[0], list):
        found = dict(zip(rows.tolist(), chain.from_iterable(parts), strict=True))
        return [found[row] for row in range(len(rows))]
    if isinstance(parts[0], torch.Tensor):
        order = torch.from_numpy(np.argsort(rows)).to(parts[0].device)
        return torch.cat(list(parts)).index_select(0, order)
    array = np.empty((len(rows), *parts[0].shape[1:]), parts[0].dtype)
    for part, place in zip(parts, calls, strict=True):
        array[place] = part
    return array


def _windows(inputs: DataLoader[BatchedInput]) -> DataLoader[BatchedInput]:
    """The data loader with larger batches."""
    from torch.utils.data import DataLoader

    return DataLoader(
        inputs.dataset,
        batch_size=(inputs.batch_size or _BATCH_SIZE) * _BATCHES_A_WINDOW,
        collate_fn=inputs.collate_fn,
        num_workers=inputs.num_workers,
    )
