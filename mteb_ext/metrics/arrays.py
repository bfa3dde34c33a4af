"""What every metric demands of its input: plain arrays of real, finite numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from mteb_ext.errors import UndefinedMetricError

__all__ = ["Numbers", "finite_numbers"]

Numbers: TypeAlias = npt.NDArray[Any]  # real numbers of any type: an order is judged as given


def finite_numbers(values: npt.ArrayLike, name: str, place: Callable[[int], str]) -> Numbers:
    """The values as a plain array in their own type, which is where ties are judged.

    Args:
        values: Real numbers of any type.
        name: What they are called in an error, for example ``"the scores"``.
        place: What the value at an index of the flat array is called.

    Raises:
        UndefinedMetricError: Something is masked, not a real number, or not finite.
    """
    if isinstance(values, np.ma.MaskedArray) and values.mask.any():
        masked = int(np.argmax(values.mask))  # what lies beneath a mask is no score
        raise UndefinedMetricError(f"{place(masked)} is masked: fill or remove masked values first")
    array = np.asarray(values)
    if array.dtype.kind not in "biuf":
        raise UndefinedMetricError(f"{name} must be real numbers, not {array.dtype}")
    finite = np.isfinite(array)
    if not finite.all():
        i = int(np.argmin(finite))
        raise UndefinedMetricError(f"{place(i)} is {array.flat[i]}: every value must be finite")
    return array
