"""The plan of a run: a cell for each model and task, their cost, and how they are shared out.

Everything here is a pure function of what it is given, so that every machine of a cluster comes to
the same parts by itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal, TypeAlias, TypeVar, get_args

from pydantic import ConfigDict, Field

from mteb_ext.running.models import ModelSpec

T = TypeVar("T")

Strategy: TypeAlias = Literal["only-missing", "always", "never", "only-cache"]
STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)
"""mteb's overwrite strategies."""


@dataclass(frozen=True)
class Options:
    """What holds for all cells of a run.

    Attributes:
        eval_splits: Splits; each task's own where empty.
        eval_subsets: Subsets; all of a task's where empty.
        batch_size: Texts that a model is given at a time.
        overwrite_strategy: One of :data:`STRATEGIES`.
        predictions: Whether scores by pair or candidate are kept.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    eval_splits: tuple[str, ...] = ()
    eval_subsets: tuple[str, ...] = ()
    batch_size: Annotated[int, Field(strict=True, gt=0)] = 32
    overwrite_strategy: Strategy = "only-missing"
    predictions: Annotated[bool, Field(strict=True)] = True


@dataclass(frozen=True)
class Plan:
    """Models and tasks, each of which meets every other once."""

    models: Annotated[tuple[ModelSpec, ...], Field(min_length=1)]
    tasks: Annotated[tuple[str, ...], Field(min_length=1)]
    options: Options = field(default_factory=Options)


@dataclass(frozen=True)
class Cell:
    """One model on one task.

    Attributes:
        model: Index of the model in the plan.
        task: Name of the task.
        cost: Seconds, roughly; only the ratio to other cells matters.
    """

    model: int
    task: str
    cost: float


@dataclass(frozen=True)
class Unit:
    """Cells of one model that one worker runs one after another, the model loaded once.

    Attributes:
        model: Index of the model in the plan.
        tasks: Names of the tasks, the longest first.
        cost: Sum of the cells' costs.
    """

    model: int
    tasks: tuple[str, ...]
    cost: float


def units(cells: Iterable[Cell], workers: int) -> list[Unit]:
    """Group cells by model, and split a model that would keep one worker busy for too long.

    A model is loaded as rarely as that allows: it is split only where its cells cost more than half
    of a worker's fair share, into parts of about that much. (Whole shares leave nothing to even out
    what costs are wrong by; scripts/simulate_run.py shows it.)

    Args:
        cells: The cells of a run.
        workers: How many workers there are to share them.

    Returns:
        Units, the costliest first.
    """
    by_model: dict[int, list[Cell]] = {}
    for cell in cells:
        by_model.setdefault(cell.model, []).append(cell)
    share = sum(cell.cost for part in by_model.values() for cell in part) / workers
    found = []
    for model, part in by_model.items():
        cost = sum(cell.cost for cell in part)
        halves = math.ceil(2 * cost / share - 1e-9) if share and workers > 1 else 1
        n_parts = min(len(part), max(1, halves))
        for bin_ in balanced(part, n_parts, lambda cell: cell.cost):
            tasks = tuple(cell.task for cell in bin_)
            found.append(Unit(model, tasks, sum(cell.cost for cell in bin_)))
    return sorted(found, key=lambda unit: -unit.cost)


def shard(cells: Sequence[Cell], number: int, of: int) -> list[Unit]:
    """One of the disjoint and balanced parts of a run, the same wherever it is computed.

    Args:
        cells: All cells of the run, whether finished or not.
        number: Which part, from 1.
        of: How many parts there are.

    Returns:
        The part's units, costliest first; none where there are fewer cells than parts.
    """
    return balanced(units(cells, of), of, lambda unit: unit.cost)[number - 1]


def balanced(items: Iterable[T], n_bins: int, cost: Callable[[T], float]) -> list[list[T]]:
    """Distribute items over bins: longest first, each to the bin that has the least so far.

    No bin gets more than 4/3 of what the best distribution gives its fullest (Graham, 1969,
    https://doi.org/10.1137/0117039).
    """
    bins: list[list[T]] = [[] for _ in range(n_bins)]
    totals = [0.0] * n_bins
    for item in sorted(items, key=lambda item: -cost(item)):
        least = min(range(n_bins), key=totals.__getitem__)
        bins[least].append(item)
        totals[least] += cost(item)
    return bins
