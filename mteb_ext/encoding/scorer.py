"""Scorer: an mteb encoder or cross-encoder that scores text pairs by the protocol."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from datasets import Dataset
from datasets.table import InMemoryTable
from mteb.models import CrossEncoderProtocol, EncoderProtocol
from mteb.types import PromptType

from mteb_ext.encoding.batches import by_tokens
from mteb_ext.encoding.output import Float, Place, Rows, Vectors, checked_scores, paired_cosine
from mteb_ext.errors import ProtocolError

if TYPE_CHECKING:
    from mteb.abstasks.task_metadata import TaskMetadata
    from torch.utils.data import DataLoader

_DECIMALS = 12  # cosines that agree to here are equal: float64 noise must not undo exact ties
_BATCH_SIZE = 32
_SIDE_COLUMNS = {None: None, PromptType.query: "query", PromptType.document: "body"}
# mteb's names of embeddings whose numbers depend on what else is in the call, and of packed bits.
_QUANTISED = frozenset({"int8", "uint8", "int4", "uint4", "binary", "ubinary"})
_PACKED = frozenset({"binary", "ubinary"})


@dataclass(frozen=True)
class Call:
    """What mteb tells a model about the texts it is given, but for the side."""

    task_metadata: TaskMetadata
    hf_split: str
    hf_subset: str

    def arguments(self) -> dict[str, Any]:
        """The keyword arguments of ``encode`` and ``predict``."""
        return dict(vars(self))


@dataclass(frozen=True)
class Texts:
    """One side of the pairs to score.

    Attributes:
        values: (m,) texts; one may occur any number of times.
        rows: (n,) which of the texts each pair takes.
        prompt_type: What mteb's prompts call this side (query, document, or neither).
        place: Names the i-th text, for error messages.
        ids: (m,) identifiers of the texts, where they have any.
    """

    values: pa.ChunkedArray
    rows: Rows
    prompt_type: PromptType | None
    place: Place
    ids: Sequence[str] | None = None


class Scorer:
    """A model, told of one split and subset of a task.

    Attributes:
        is_encoder: Whether scores are cosines of embeddings (else a cross-encoder's own).
        remarks: What a reader of the scores has to know of the model, by result key:
            ``declared_similarity``, where it is not the cosine that the protocol takes instead, and
            ``quantised``, the type of embeddings whose scale depends on the texts of one call.
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
            call: The task, split and subset.
            encode_kwargs: mteb's ``encode_kwargs``, passed on to the model.
            num_proc: Worker processes of the data loaders.

        Raises:
            ProtocolError: If the model is neither encoder nor cross-encoder, or returns packed
                bits, which have no cosine.
        """
        if not isinstance(model, (EncoderProtocol, CrossEncoderProtocol)):
            raise ProtocolError(
                f"{type(model).__name__} is neither an mteb encoder nor a cross-encoder"
            )
        self.is_encoder = isinstance(model, EncoderProtocol)
        self._model: Any = by_tokens(model)
        self._call = call
        self._encode_kwargs = dict(encode_kwargs)
        if self._encode_kwargs.get("batch_size") is None:
            self._encode_kwargs["batch_size"] = _BATCH_SIZE
        self._num_proc = num_proc
        self.remarks = self._remarks() if self.is_encoder else {}

    def score_pairs(self, left: Texts, right: Texts) -> Float:
        """Score text pairs: cosine of the embeddings, or the cross-encoder's prediction.

        Args:
            left: The first text of n pairs.
            right: The second text of n pairs.

        Returns:
            (n,) finite scores; cosines lie in [-1, 1] and are rounded to 12 decimals, so that those
            that differ by rounding noise are equal.

        Raises:
            ProtocolError: If the model returns a wrong number of rows, a wrong shape or type, or a
                value that is not finite.
        """
        if self.is_encoder:
            return self._cosines(left, right).round(_DECIMALS)
        return self._predictions(left, right)

    def _remarks(self) -> dict[str, str]:
        remarks = {}
        meta = self._model.mteb_model_meta
        similarity = getattr(meta, "similarity_fn_name", None)
        name = str(getattr(similarity, "value", similarity))
        if similarity is not None and name != "cosine":
            remarks["declared_similarity"] = name
        precision = self._encode_kwargs.get("precision")
        if precision in _PACKED:
            raise ProtocolError(
                f"precision={precision!r} packs the bits of embeddings into bytes, which have no "
                "cosine. mteb's CompressionWrapper keeps one bit a number."
            )
        if level := quantised_to(self._model, self._encode_kwargs):
            remarks["quantised"] = level
        return remarks

    def _cosines(self, left: Texts, right: Texts) -> Float:
        if left.prompt_type == right.prompt_type:  # one call for both, so that batches are full
            both = _joined(left, right)
            vectors, rows = self._encoded(both)
            left_rows, right_rows = np.split(rows[both.rows], [len(left.rows)])
            sides = (vectors, left_rows, vectors, right_rows)
        else:
            left_vectors, left_rows = self._encoded(left)
            # A model may return the same buffer again, filled anew.
            left_vectors.array = left_vectors.array.copy()
            right_vectors, right_rows = self._encoded(right)
            sides = (left_vectors, left_rows[left.rows], right_vectors, right_rows[right.rows])
        _warn_of_zeros(*sides)
        return paired_cosine(*sides)

    def _encoded(self, texts: Texts) -> tuple[Vectors, Rows]:
        """The embeddings of the distinct texts, and which of them each text has."""
        rows, first = _distinct(texts.values)
        if not len(first):
            raise ProtocolError("there is no text to encode")
        arguments = {
            **self._call.arguments(),
            "prompt_type": texts.prompt_type,
            **self._encode_kwargs,
        }
        _check_signature(self._model.encode, arguments)
        returned = self._model.encode(
            self._loader(texts, first, _SIDE_COLUMNS[texts.prompt_type]), **arguments
        )
        vectors = Vectors(
            returned,
            len(first),
            lambda row: texts.place(int(first[row])),
            quantised="quantised" in self.remarks,
        )
        return vectors, rows

    def _predictions(self, left: Texts, right: Texts) -> Float:
        left_rows, right_rows = _distinct(left.values)[0], _distinct(right.values)[0]
        keys = left_rows[left.rows] * len(right_rows) + right_rows[right.rows]
        rows, first = _distinct_pairs(keys)
        lefts, rights = left.rows[first], right.rows[first]
        # mteb's rerankers look for these columns, whatever the task.
        returned = self._model.predict(
            self._loader(left, lefts, "query"),
            self._loader(right, rights, "body"),
            **self._call.arguments(),
            **self._encode_kwargs,
        )

        def place(row: int) -> str:
            return f"{left.place(int(lefts[row]))} with {right.place(int(rights[row]))}"

        return checked_scores(returned, len(first), place)[rows]

    def _loader(self, texts: Texts, rows: Rows, also: str | None) -> DataLoader[Any]:
        """A data loader of the kind that mteb gives its models: texts under one or two names."""
        from torch.utils.data import DataLoader

        values = texts.values.take(pa.array(rows))
        columns = {"text": values, **({also: values} if also else {})}
        if texts.ids is not None:
            columns["id"] = pa.array([texts.ids[row] for row in rows.tolist()], pa.string())
        return DataLoader(
            Dataset(InMemoryTable(pa.table(columns))),
            batch_size=self._encode_kwargs["batch_size"],
            num_workers=self._num_proc if self._num_proc and self._num_proc > 1 else 0,
        )


def quantised_to(model: Any, encode_kwargs: Mapping[str, Any]) -> str | None:  # noqa: ANN401
    """The type that a model's embeddings are quantised to, by its options or mteb's wrapper."""
    experiment = getattr(model.mteb_model_meta, "experiment_kwargs", None) or {}
    level = encode_kwargs.get("precision") or experiment.get("output_dtypes")
    return str(level) if level in _QUANTISED else None


def _joined(left: Texts, right: Texts) -> Texts:
    m = len(left.values)
    ids = None
    if left.ids is not None and right.ids is not None:
        ids = [*left.ids, *right.ids]
    return Texts(
        pa.chunked_array([*left.values.chunks, *right.values.chunks], left.values.type),
        np.concatenate([left.rows, right.rows + m]),
        left.prompt_type,
        lambda i: left.place(i) if i < m else right.place(i - m),
        ids,
    )


def _distinct(texts: pa.ChunkedArray) -> tuple[Rows, Rows]:
    """Which of the distinct texts each text is, and where each of those stands first."""
    encoded = texts.dictionary_encode().unify_dictionaries()
    codes = [chunk.indices.to_numpy().astype(np.intp) for chunk in encoded.chunks]
    rows = np.concatenate([np.empty(0, dtype=np.intp), *codes])
    # Arrow numbers texts in the order in which they come: a new one has the greatest number so far.
    first = np.flatnonzero(np.diff(np.maximum.accumulate(rows), prepend=-1))
    return rows, first


def _distinct_pairs(keys: Rows) -> tuple[Rows, Rows]:
    """Which of the distinct pairs each pair is, and where each of those stands first."""
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return rank[inverse], first[order]


def _check_signature(encode: Callable[..., Any], arguments: Mapping[str, Any]) -> None:
    """See that a model takes what mteb hands to it, before it is run.

    Raises:
        ProtocolError: If it does not.
    """
    try:
        inspect.signature(encode).bind(None, **arguments)
    except TypeError as error:
        raise ProtocolError(
            f"the model's encode does not take what mteb hands to it ({error}). Expected: "
            "encode(inputs, *, task_metadata, hf_split, hf_subset, prompt_type=None, **kwargs), "
            "where inputs yields batches with the texts under 'text'. A SentenceTransformer can be "
            "handed to mteb.evaluate as it is."
        ) from None
    except ValueError:
        return  # a callable of which Python does not know the signature


def _warn_of_zeros(left: Vectors, left_rows: Rows, right: Vectors, right_rows: Rows) -> None:
    zero = (left.norms[left_rows] == 0) | (right.norms[right_rows] == 0)
    if zero.any():
        warnings.warn(
            f"{int(zero.sum())} of {len(zero)} pairs have a text whose embedding is all zeros; "
            "their cosine counts as 0.",
            RuntimeWarning,
            stacklevel=2,
        )
