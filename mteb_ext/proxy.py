"""ProtocolModel: what stands between a model and the metrics.

It sees to it that the similarity is the protocol's cosine whatever the model's own is, that each
distinct text goes through the model once, and that only finite numbers get on.

What a model has answered is kept for the other tasks of the same run, one ``mteb.evaluate``, and no
longer: between two runs a model may have been trained, or set otherwise, and that cannot always be
seen from outside. A run is known by its ``encode_kwargs``: mteb hands the same object to all of its
tasks.
"""

from __future__ import annotations

import sys
import threading
import warnings
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from datasets import Dataset
from mteb.models import CrossEncoderProtocol, EncoderProtocol
from mteb.types import PromptType

from mteb_ext.context import Call, answer_key
from mteb_ext.errors import ProtocolError

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch.utils.data import DataLoader

MEMORY_LIMIT = 1 << 30
"""Bytes of texts, embeddings and scores that are kept for the next task of a run."""

_CHUNK_VALUES = 1 << 22  # embedding values that are gathered at a time for the dot products
_DECIMALS = 12  # cosines that agree to here tie: float64 noise must not undo what is exactly equal
_SIDE_COLUMNS = {None: None, PromptType.query: "query", PromptType.document: "body"}


@dataclass(frozen=True)
class Texts:
    """One side of the pairs to score.

    Attributes:
        values: The texts, one a pair; a text may occur any number of times.
        prompt_type: What mteb's prompts call this side (query, document, or neither).
        place: Names the place of the i-th text in the dataset, for error messages.
    """

    values: Sequence[str]
    prompt_type: PromptType | None
    place: Callable[[int], str]


class ProtocolModel:
    """An mteb encoder or cross-encoder that scores text pairs by the protocol.

    Attributes:
        is_encoder: Whether scores are cosines of embeddings (else a cross-encoder's own).
    """

    def __init__(
        self,
        model: EncoderProtocol | CrossEncoderProtocol,
        call: Call,
        encode_kwargs: Mapping[str, Any],
        num_proc: int | None = None,
    ) -> None:
        """Wrap a model for one split and subset of a task.

        Args:
            model: The model.
            call: The task, split and subset; its prompt type is set per side.
            encode_kwargs: mteb's ``encode_kwargs``, passed on to the model.
            num_proc: Worker processes of the data loaders.

        Raises:
            ProtocolError: If the model is neither encoder nor cross-encoder, or the options ask for
                quantised embeddings: their scale depends on the texts of the same call.
        """
        if not isinstance(model, (EncoderProtocol, CrossEncoderProtocol)):
            raise ProtocolError(
                f"{type(model).__name__} is neither an mteb encoder nor a cross-encoder"
            )
        if encode_kwargs.get("precision") not in {None, "float32"}:
            raise ProtocolError(
                f"precision={encode_kwargs['precision']!r} quantises embeddings on the scale of "
                "the texts of one call, so that a score depends on what else is encoded. Leave "
                "precision out."
            )
        _memory.enter_run(model, encode_kwargs)
        self.is_encoder = isinstance(model, EncoderProtocol)
        self._model = model
        self._call = call
        self._encode_kwargs = {"batch_size": 32, **encode_kwargs}
        self._num_proc = num_proc

    def score_pairs(self, left: Texts, right: Texts) -> NDArray[np.float64]:
        """Score text pairs: cosine of the embeddings, or the cross-encoder's prediction.

        Args:
            left: n texts.
            right: n texts.

        Returns:
            (n,) finite scores; cosines lie in [-1, 1].

        Raises:
            ProtocolError: If the model returns a wrong number of rows, a wrong shape, or a value
                that is not finite.
        """
        scores = self._cosines(left, right) if self.is_encoder else self._predictions(left, right)
        _memory.trim()
        return scores

    def for_ranks(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """The scores as ranks are to be taken of them: cosines that differ by noise are equal."""
        return scores.round(_DECIMALS) if self.is_encoder else scores

    def _cosines(self, left: Texts, right: Texts) -> NDArray[np.float64]:
        left_store, right_store = self._embeddings(left), self._embeddings(right)
        if left_store is right_store:  # one call for both, so that batches are full
            self._encode_missing(left_store, _joined(left, right))
        else:
            self._encode_missing(left_store, left)
            self._encode_missing(right_store, right)
        left_rows, right_rows = left_store.find(left.values), right_store.find(right.values)
        _warn_of_zeros(left_store, left_rows, right_store, right_rows)
        return _paired_cosine(left_store, left_rows, right_store, right_rows)

    def _embeddings(self, texts: Texts) -> _Embeddings:
        call = self._call_for(texts)
        key = answer_key(self._model, self._model.encode, call)  # type: ignore[union-attr]
        store: _Embeddings = _memory.store(
            self._model, (key, _weights_version(self._model)), _Embeddings
        )
        return store

    def _call_for(self, texts: Texts) -> Call:
        return Call(
            self._call.task_metadata, self._call.hf_split, self._call.hf_subset, texts.prompt_type
        )

    def _encode_missing(self, store: _Embeddings, texts: Texts) -> None:
        with store.lock:
            first = _first_places(texts.values, store.rows)
            if not first:
                return
            missing = list(first)
            vectors = self._model.encode(  # type: ignore[union-attr]
                self._loader(missing, _SIDE_COLUMNS[texts.prompt_type]),
                **self._call_for(texts).arguments(),
                **self._encode_kwargs,
            )

            def place(row: int) -> str:
                return texts.place(first[missing[row]])

            store.add(missing, _checked_vectors(vectors, len(missing), place))

    def _predictions(self, left: Texts, right: Texts) -> NDArray[np.float64]:
        call = self._call_for(left)
        key = answer_key(self._model, self._model.predict, call)  # type: ignore[union-attr]
        store = _memory.store(self._model, (key, _weights_version(self._model)), _PairScores)
        pairs = list(zip(left.values, right.values, strict=True))
        with store.lock:
            first = _first_places(pairs, store.scores)
            if first:
                missing = list(first)
                # mteb's rerankers look for these columns, whatever the task.
                predicted = self._model.predict(  # type: ignore[union-attr]
                    self._loader([pair[0] for pair in missing], "query"),
                    self._loader([pair[1] for pair in missing], "body"),
                    task_metadata=call.task_metadata,
                    hf_split=call.hf_split,
                    hf_subset=call.hf_subset,
                    **self._encode_kwargs,
                )

                def place(row: int) -> str:
                    pair = first[missing[row]]
                    return f"{left.place(pair)} with {right.place(pair)}"

                store.add(missing, _checked_scores(predicted, len(missing), place))
            return np.array([store.scores[pair] for pair in pairs], dtype=np.float64)

    def _loader(self, texts: list[str], also: str | None) -> DataLoader[Any]:
        """A data loader of the kind that mteb gives its models: texts under one or two names."""
        from torch.utils.data import DataLoader

        columns = {"text": texts, also: texts} if also else {"text": texts}
        return DataLoader(
            Dataset.from_dict(columns),
            batch_size=self._encode_kwargs["batch_size"],
            num_workers=self._num_proc if self._num_proc and self._num_proc > 1 else 0,
        )


def clear_memory() -> None:
    """Forget all embeddings and scores that are kept for the next task of a run.

    Needed only by who calls ``mteb.evaluate`` repeatedly with the same ``encode_kwargs`` object and
    the same model, changed in between in another way than by training its torch parameters.
    """
    _memory.clear()


class _Embeddings:
    """The embeddings of distinct texts: (n, dimensions) rows and their norms."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.rows: dict[str, int] = {}
        self.vectors: NDArray[Any] = np.empty((0, 0), dtype=np.float32)
        self.norms: NDArray[np.float64] = np.empty(0)
        self._text_bytes = 0

    @property
    def nbytes(self) -> int:
        return self.vectors.nbytes + self.norms.nbytes + self._text_bytes

    def add(self, texts: Sequence[str], vectors: NDArray[Any]) -> None:
        if self.rows and vectors.shape[1] != self.vectors.shape[1]:
            raise ProtocolError(
                f"the model returned embeddings of {vectors.shape[1]} dimensions after embeddings "
                f"of {self.vectors.shape[1]}"
            )
        norms = np.linalg.norm(vectors.astype(np.float64), axis=1)
        self.vectors = np.concatenate([self.vectors, vectors]) if self.rows else vectors
        self.norms = np.concatenate([self.norms, norms])
        self.rows.update(zip(texts, range(len(self.rows), len(self.norms)), strict=True))
        self._text_bytes += sum(map(sys.getsizeof, texts))

    def find(self, texts: Sequence[str]) -> NDArray[np.intp]:
        return np.fromiter((self.rows[text] for text in texts), dtype=np.intp, count=len(texts))


class _PairScores:
    """A cross-encoder's scores of distinct text pairs."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.scores: dict[tuple[str, str], float] = {}
        self.nbytes = 0

    def add(self, pairs: Sequence[tuple[str, str]], scores: NDArray[np.float64]) -> None:
        self.scores.update(zip(pairs, scores.tolist(), strict=True))
        self.nbytes += sum(sys.getsizeof(a) + sys.getsizeof(b) + 24 for a, b in pairs)


class _Memory:
    """The stores of all models alive; the least recently used go first when it grows too large."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._stores: OrderedDict[tuple[int, Hashable], Any] = OrderedDict()
        self._runs: dict[int, Mapping[str, Any]] = {}
        self._watched: set[int] = set()

    def enter_run(self, model: object, run: Mapping[str, Any]) -> None:
        """Forget what a model answered in another run than this one."""
        with self._lock:
            if self._runs.get(id(model)) is run:
                return
            self._drop(id(model))
            try:
                self._watch(model)
            except TypeError:
                return  # its end would go unnoticed, so nothing is kept for it
            self._runs[id(model)] = run

    def store(self, model: object, key: Hashable, kind: type[Any]) -> Any:  # noqa: ANN401
        """The store of a model's answers under a key, made where there is none."""
        with self._lock:
            if id(model) not in self._runs:
                return kind()
            store = self._stores.setdefault((id(model), key), kind())
            self._stores.move_to_end((id(model), key))
            return store

    def trim(self) -> None:
        with self._lock:
            while sum(store.nbytes for store in self._stores.values()) > MEMORY_LIMIT:
                self._stores.popitem(last=False)

    def clear(self) -> None:
        with self._lock:
            self._stores.clear()

    def _watch(self, model: object) -> None:
        """See to it that nothing outlives the model: its identity may go to another object."""
        if id(model) not in self._watched:
            weakref.finalize(model, self._end, id(model)).atexit = False
            self._watched.add(id(model))

    def _end(self, identity: int) -> None:
        self._watched.discard(identity)
        self._drop(identity)

    def _drop(self, identity: int) -> None:
        with self._lock:
            self._runs.pop(identity, None)
            for key in [key for key in self._stores if key[0] == identity]:
                del self._stores[key]


_memory = _Memory()


def _joined(left: Texts, right: Texts) -> Texts:
    n = len(left.values)
    return Texts(
        [*left.values, *right.values],
        left.prompt_type,
        lambda i: left.place(i) if i < n else right.place(i - n),
    )


def _first_places(items: Sequence[Any], known: Mapping[Any, Any]) -> dict[Any, int]:
    """The distinct items that are not known yet, in order, and where each stands first."""
    first: dict[Any, int] = {}
    for i, item in enumerate(items):
        if item not in known:
            first.setdefault(item, i)
    return first


def _weights_version(model: object) -> Hashable:
    """Changes when an optimiser has stepped: torch counts the writes to each parameter."""
    torch = sys.modules.get("torch")
    module = getattr(model, "model", model)
    if torch is None or not isinstance(module, torch.nn.Module):
        return None
    return tuple((p.data_ptr(), p._version) for p in module.parameters())


def _checked_vectors(vectors: Any, n: int, place: Callable[[int], str]) -> NDArray[Any]:  # noqa: ANN401
    array = _as_array(vectors, f"{n} embeddings of one length")
    if array.ndim != 2:
        raise ProtocolError(
            f"the model returned an array of shape {array.shape} for {n} texts, expected ({n}, d): "
            "one embedding a text"
        )
    _check_rows(array, n, "texts", place)
    if array.dtype == np.float64:
        # Cosine does not depend on a vector's length, and a power of two scales it exactly: squares
        # of very large or small values then neither overflow nor vanish.
        exponents = np.frexp(np.abs(array).max(axis=1, initial=0.0))[1]
        array = np.ldexp(array, -exponents[:, np.newaxis])
    return array


def _checked_scores(scores: Any, n: int, place: Callable[[int], str]) -> NDArray[np.float64]:  # noqa: ANN401
    array = _as_array(scores, f"{n} scores").astype(np.float64)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ProtocolError(
            f"the cross-encoder returned an array of shape {array.shape} for {n} pairs, expected "
            f"({n},): one score a pair (a classifier with several labels is none)"
        )
    _check_rows(array, n, "pairs", place)
    return array


def _as_array(values: Any, expected: str) -> NDArray[Any]:  # noqa: ANN401
    try:
        array = np.asarray(_without_torch(values))
    except ValueError as error:
        raise ProtocolError(f"expected {expected} from the model: {error}") from error
    if array.dtype == np.float64:
        return array
    if array.dtype.kind not in "fiub":
        raise ProtocolError(f"expected {expected} from the model, found {array.dtype} values")
    return array.astype(np.float32)


def _without_torch(values: Any) -> Any:  # noqa: ANN401 - whatever a model returns
    """Numpy arrays for torch tensors, which may be sparse or of a type that numpy lacks."""
    if isinstance(values, (list, tuple)):
        return [_without_torch(value) for value in values]
    if not hasattr(values, "detach"):
        return values
    tensor = values.detach()
    tensor = tensor.to_dense() if "sparse" in str(tensor.layout) else tensor
    return (tensor.float() if tensor.is_floating_point() else tensor).cpu().numpy()


def _check_rows(array: NDArray[Any], n: int, what: str, place: Callable[[int], str]) -> None:
    if len(array) != n:
        missing = f"; the first without one is {place(len(array))}" if len(array) < n else ""
        raise ProtocolError(f"the model returned {len(array)} rows for {n} {what}{missing}")
    finite = np.isfinite(array).reshape(n, -1).all(axis=1)
    if not finite.all():
        row = int(np.argmin(finite))
        raise ProtocolError(
            f"the model returned NaN or infinite values for {n - int(finite.sum())} of {n} {what}; "
            f"the first is {place(row)}. Check the model in float32, and empty or very long texts."
        )


def _warn_of_zeros(
    left: _Embeddings, left_rows: NDArray[np.intp], right: _Embeddings, right_rows: NDArray[np.intp]
) -> None:
    zero = (left.norms[left_rows] == 0) | (right.norms[right_rows] == 0)
    if zero.any():
        warnings.warn(
            f"{int(zero.sum())} of {len(zero)} pairs have a text whose embedding is all zeros; "
            "their cosine counts as 0.",
            RuntimeWarning,
            stacklevel=2,
        )


def _paired_cosine(
    left: _Embeddings, left_rows: NDArray[np.intp], right: _Embeddings, right_rows: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Cosine of corresponding rows, in float64; 0 where one of them is a zero vector."""
    n, step = len(left_rows), max(1, _CHUNK_VALUES // max(1, left.vectors.shape[1]))
    cosine: NDArray[np.float64] = np.empty(n)
    for start in range(0, n, step):
        part = slice(start, start + step)
        cosine[part] = np.einsum(
            "ij,ij->i",
            left.vectors[left_rows[part]].astype(np.float64),
            right.vectors[right_rows[part]].astype(np.float64),
        )
    norms = left.norms[left_rows] * right.norms[right_rows]
    cosine = np.divide(cosine, norms, out=np.zeros(n), where=norms > 0)
    return np.clip(cosine, -1.0, 1.0)
