"""P-values of a family of comparisons, corrected together from draws under the null hypothesis.

Westfall and Young, "Resampling-Based Multiple Testing" (1993); the algorithms are those of Ge,
Dudoit and Speed, "Resampling-based multiple testing for microarray data analysis" (Test 2003). A
corrected p is the chance that the most extreme of the comparisons still in play is as extreme as
this one, if none of their models differ. What the comparisons have in common is taken into account,
and every correction holds whichever of the hypotheses are true.

- Min-P: the most extreme is the one with the smallest p of its own. Comparisons whose statistics
  have other distributions, two near-copies that tie almost everywhere among them, are treated
  alike. For the same draws no corrected p is above Holm's.
- Max: the most extreme is the one with the largest statistic. It needs statistics of one scale, and
  tells more from few draws.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["StepDown", "step_down_max", "step_down_min_p"]

_Float: TypeAlias = npt.NDArray[np.float64]
_Int: TypeAlias = npt.NDArray[np.int64]

_TIED = 1e-9  # statistics that differ by less are equal


class StepDown(NamedTuple):
    """The p-values of a family.

    Attributes:
        p: ``(P,)`` each comparison's own. The data as they are count as one more draw, so that
            none is 0.
        adjusted: ``(P,)`` corrected for the family.
        hardest: What the first step asks for: the p-value that a comparison of its own may not
            exceed to be significant (min-P), or the statistic that it must exceed (max).
    """

    p: _Float
    adjusted: _Float
    hardest: float


def step_down_min_p(observed: _Float, drawn: Callable[[int], _Float], level: float) -> StepDown:
    """Step-down min-P.

    Args:
        observed: ``(P,)`` statistics; large ones speak against the null hypothesis.
        drawn: Gives the ``(B,)`` drawn statistics of a comparison. They are asked for twice: all
            at once would not fit into memory.
        level: The level of significance.
    """
    extreme = np.array([1 + (drawn(k) >= t - _TIED).sum() for k, t in enumerate(observed)])
    adjusted = np.empty(observed.size)
    descending = np.argsort(-extreme, kind="stable")
    smallest = np.full(1, np.iinfo(np.int64).max)
    for k in descending:
        ranks = _ranks_from_above(np.append(drawn(k), observed[k]))
        ranks[-1] = extreme[k]
        smallest = np.minimum(smallest, ranks)
        adjusted[k] = (smallest <= extreme[k]).sum()
    ascending = descending[::-1]
    adjusted[ascending] = np.maximum.accumulate(adjusted[ascending])
    total = smallest.size
    allowed = np.sort(smallest)[max(0, int(level * total) - 1)]
    return StepDown(extreme / total, adjusted / total, float(allowed / total))


def step_down_max(observed: _Float, drawn: _Float, level: float) -> StepDown:
    """Step-down max.

    Args:
        observed: ``(P,)`` statistics of one scale; large ones speak against the null hypothesis.
        drawn: ``(B, P)`` drawn ones.
        level: The level of significance.
    """
    total = len(drawn) + 1
    ascending = np.argsort(observed, kind="stable")
    largest = np.maximum.accumulate(drawn[:, ascending], axis=1)
    bounds = observed - _TIED
    adjusted = np.empty(observed.size)
    adjusted[ascending] = 1 + (largest >= bounds[ascending]).sum(axis=0)
    descending = ascending[::-1]
    adjusted[descending] = np.maximum.accumulate(adjusted[descending])
    p = (1 + (drawn >= bounds).sum(axis=0)) / total
    hardest = float(np.quantile(largest[:, -1], 1 - level, method="higher"))
    return StepDown(p, adjusted / total, hardest)


def _ranks_from_above(statistics: _Float) -> _Int:
    """How many statistics are as large as each, itself included."""
    descending = np.argsort(-statistics)
    ordered = statistics[descending]
    with np.errstate(invalid="ignore"):  # inf - inf
        last = np.append(ordered[:-1] - ordered[1:] > _TIED, True)
    ends = np.flatnonzero(last) + 1
    ranks = np.empty(statistics.size, dtype=np.int64)
    ranks[descending] = np.repeat(ends, np.diff(ends, prepend=0))
    return ranks
