"""What a model returned, as checked arrays: one row a text, finite numbers only.

Models return numpy arrays and torch tensors of any type and layout, masked arrays, lists of either,
scipy's sparse matrices. Values are kept as they are: in float32 where that holds them all, else in
float64. Sparse output stays sparse.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse

from mteb_ext.errors import ProtocolError

Float: TypeAlias = npt.NDArray[np.float64]
Rows: TypeAlias = npt.NDArray[np.intp]
Array: TypeAlias = Any  # a numpy array, or scipy's csr_array, whose types are not known to mypy
Place: TypeAlias = Callable[[int], str]

_WHOLE = (str, bytes, bytearray, memoryview)  # sequences whose parts are no embeddings
_CHUNK_VALUES = 1 << 22  # values that are turned into float64 at a time
_FLOAT32_HOLDS = frozenset({"float16", "float32", "bool", "int8", "uint8", "int16"})
_SAFE_EXPONENT = 500  # between 2**-500 and 2**500 squares of float64 neither overflow nor vanish


class Vectors:
    """The embeddings of n texts.

    Attributes:
        array: (n, d) finite values, dense or sparse.
        norms: (n,) Euclidean norms, those of rows scaled by a power of two where they would not fit
            into float64.
    """

    def __init__(self, returned: object, n: int, place: Place, *, quantised: bool = False) -> None:
        """Take what a model returned for n texts.

        Args:
            returned: The model's output.
            n: Number of texts.
            place: Names the i-th text, for error messages.
            quantised: Whether the model is known to return quantised numbers, so that bytes are
                such numbers and no packed bits.

        Raises:
            ProtocolError: If it is not one finite vector a text.
        """
        array = _as_numbers(returned, f"{n} embeddings of one length")
        if array.ndim != 2 or (n and not array.shape[1]):
            raise ProtocolError(
                f"the model returned an array of shape {array.shape} for {n} texts, expected "
                f"({n}, d): one embedding a text"
            )
        _check_rows(array.shape[0], n, "texts", place)
        if array.dtype == np.uint8 and not quantised:
            raise ProtocolError(
                "the model returned bytes (uint8): packed bits, whose cosine has no meaning. "
                "Return the unpacked bits, or name the precision of quantised numbers"
            )
        narrow = array.dtype.name in _FLOAT32_HOLDS
        array = array.astype(np.float32 if narrow else np.float64, copy=False)
        self.array = array if narrow else _scaled(array)
        self.norms = np.concatenate([np.empty(0), *(_norms(part) for part in self._parts())])
        _check_finite(self.norms, "texts", place)

    def take(self, rows: Rows) -> Array:
        """The embeddings of some texts, in float64."""
        return self.array[rows].astype(np.float64)

    @property
    def rows_at_a_time(self) -> int:
        """So many rows are gathered at a time, which bounds the memory."""
        n, values = self.array.shape[0], self.array.size  # of sparse arrays: the stored values
        return max(1, int(_CHUNK_VALUES * n // max(1, values)))

    def _parts(self) -> Iterator[Array]:
        step = self.rows_at_a_time
        for start in range(0, self.array.shape[0], step):
            yield self.array[start : start + step].astype(np.float64)


def paired_cosine(left: Vectors, left_rows: Rows, right: Vectors, right_rows: Rows) -> Float:
    """Cosine of corresponding rows, in float64; 0 where one of them is a zero vector.

    Rounding may leave it beyond 1 by some 1e-16.

    Raises:
        ProtocolError: If the two sides have embeddings of different dimension.
    """
    dimensions = left.array.shape[1], right.array.shape[1]
    if dimensions[0] != dimensions[1]:
        raise ProtocolError(
            f"the model returned embeddings of {dimensions[0]} dimensions for one side of the "
            f"pairs and of {dimensions[1]} for the other; a cosine needs the same of both"
        )
    cosine: Float = np.empty(len(left_rows))
    step = min(left.rows_at_a_time, right.rows_at_a_time)
    for start in range(0, len(cosine), step):
        part = slice(start, start + step)
        cosine[part] = _row_dots(left.take(left_rows[part]), right.take(right_rows[part]))
    norms = left.norms[left_rows] * right.norms[right_rows]
    np.divide(cosine, norms, out=cosine, where=norms > 0)
    return cosine


def checked_scores(returned: object, n: int, place: Place) -> Float:
    """What a cross-encoder returned for n pairs.

    Raises:
        ProtocolError: If it is not one finite score a pair.
    """
    numbers = _as_numbers(returned, f"{n} scores").astype(np.float64)
    array: Float = numbers.toarray() if sparse.issparse(numbers) else numbers
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ProtocolError(
            f"the cross-encoder returned an array of shape {array.shape} for {n} pairs, expected "
            f"({n},): one score a pair (a classifier with several labels is none)"
        )
    _check_rows(len(array), n, "pairs", place)
    _check_finite(array, "pairs", place)
    return array


def _as_numbers(returned: object, expected: str) -> Array:
    """An array of real numbers of any type."""
    values = _without_torch(returned)
    if sparse.issparse(values):
        array: Array = sparse.csr_array(values)
    elif np.ma.isMaskedArray(values):
        # A value that is masked is missing: NaN, which is found as such.
        array = np.ma.filled(np.ma.asarray(values, dtype=np.float64), np.nan)
    else:
        array = _as_dense(values, returned, expected)
    if array.dtype.kind not in "fiub":
        raise ProtocolError(f"expected {expected} from the model, found {array.dtype} values")
    return array


def _as_dense(values: Any, returned: object, expected: str) -> npt.NDArray[Any]:  # noqa: ANN401
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise ProtocolError(f"expected {expected} from the model: {error}") from error
    if array.dtype == object:
        kind = type(returned).__name__
        names = f" with {', '.join(map(repr, returned))}" if isinstance(returned, Mapping) else ""
        raise ProtocolError(
            f"expected {expected} from the model, found {kind}{names}. Let encode return the one "
            "array that the task is about."
        )
    return array


def _without_torch(values: Any) -> Any:  # noqa: ANN401 - whatever a model returns
    """Numpy and scipy arrays for torch tensors, whose types and layouts numpy has not all."""
    if isinstance(values, Sequence) and not isinstance(values, _WHOLE):
        return [_without_torch(value) for value in values]
    if not hasattr(values, "detach"):
        return values
    try:
        return _from_torch(values)
    except (RuntimeError, TypeError) as error:  # the meta device, nested tensors
        reason = str(error).strip().partition("\n")[0].partition(". ")[0]
        raise ProtocolError(
            f"the model returned a torch tensor that holds no array of numbers ({reason}). Return "
            "a dense or sparse tensor on a device that holds values."
        ) from error


def _from_torch(values: Any) -> Any:  # noqa: ANN401 - a tensor
    tensor = values.detach().cpu()
    if tensor.is_quantized:
        tensor = tensor.dequantize()
    if tensor.is_floating_point() and tensor.element_size() < 4:
        tensor = tensor.float()
    if "sparse" not in str(tensor.layout):
        return tensor.numpy()
    tensor = tensor.to_sparse_coo().coalesce()
    return sparse.coo_array((tensor.values().numpy(), tensor.indices().numpy()), tensor.shape)


def _scaled(array: Array) -> Array:
    """Rows times powers of two, where squares of the values would overflow or vanish.

    A cosine does not depend on a vector's length, and the scaling is exact.
    """
    largest = abs(array).max(axis=1)
    largest = largest.toarray() if sparse.issparse(largest) else largest
    exponents = np.frexp(largest)[1]
    if not (abs(exponents) > _SAFE_EXPONENT).any():
        return array
    if sparse.issparse(array):
        scaled = array.copy()
        scaled.data = np.ldexp(array.data, -np.repeat(exponents, np.diff(array.indptr)))
        return scaled
    return np.ldexp(array, -exponents[:, np.newaxis])


def _norms(rows: Array) -> Float:
    return np.sqrt(_row_dots(rows, rows))


def _row_dots(left: Array, right: Array) -> Float:
    if sparse.issparse(left) or sparse.issparse(right):
        products = sparse.csr_array(left).multiply(right).sum(axis=1)
        return np.asarray(products, dtype=np.float64)
    dots: Float = np.einsum("ij,ij->i", left, right)
    return dots


def _check_rows(found: int, n: int, what: str, place: Place) -> None:
    if found != n:
        missing = f"; the first without one is {place(found)}" if found < n else ""
        raise ProtocolError(f"the model returned {found} rows for {n} {what}{missing}")


def _check_finite(values: Float, what: str, place: Place) -> None:
    finite = np.isfinite(values)
    if not finite.all():
        raise ProtocolError(
            f"the model returned NaN or infinite values for {int((~finite).sum())} of "
            f"{len(values)} {what}; the first is {place(int(np.argmin(finite)))}. Check the model "
            "in float32, and empty or very long texts."
        )
