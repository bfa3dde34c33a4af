"""What a run of many models costs on many workers: the planner of ``mteb-ext run``, on paper.

100 models of 20 to 600 million parameters on the ten largest of the package's tasks, their
costs as ``mteb_ext.running.costs`` guesses them, and as they might really be: off by a factor of up
to two, each cell by its own. ``--jobs`` and ``--ray`` give the next unit to whoever is free;
``--shard`` fixes all parts beforehand.

    python scripts/simulate_run.py [--models 100] [--seed 0]
"""

from __future__ import annotations

import argparse
import heapq
import random

import mteb

import mteb_ext  # noqa: F401 - its tasks are known to mteb from here on
from mteb_ext.running.costs import cell_cost, texts_of_task
from mteb_ext.running.plan import Cell, Unit, shard, units

WORKERS = (1, 8, 64)
LOAD_SECONDS_PER_PARAMETER = 4e-9  # four bytes each, from a disk of 1 GB a second


def main() -> None:
    """Print a table of makespans beside their lower bound."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    sizes = [round(2e7 * 30 ** rng.random()) for _ in range(arguments.models)]
    texts = largest_tasks(10)
    cells = [
        Cell(model, task, cell_cost(n_texts, size))
        for model, size in enumerate(sizes)
        for task, n_texts in texts.items()
    ]
    real = {(c.model, c.task): c.cost * 2 ** rng.uniform(-1, 1) for c in cells}
    print(f"{len(cells)} cells, {hours(sum(c.cost for c in cells))} of 2 CPU cores as guessed,")
    print(f"{hours(sum(real.values()))} in fact\n")
    print("| workers | engine | makespan | lower bound | ratio | utilisation | loads |")
    print("|---|---|---|---|---|---|---|")
    for n_workers in WORKERS:
        bound = max([sum(real.values()) / n_workers, *real.values()])
        for engine, parts in (
            ("`--jobs`, `--ray`", when_free(units(cells, n_workers), n_workers, real, sizes)),
            ("`--shard`", beforehand(cells, n_workers, real, sizes)),
        ):
            busy, loads = parts
            print(
                f"| {n_workers} | {engine} | {hours(max(busy))} | {hours(bound)} "
                f"| {max(busy) / bound:.2f} | {sum(busy) / max(busy) / n_workers:.0%} | {loads} |"
            )


def largest_tasks(n: int) -> dict[str, int]:
    """The texts of the package's tasks that have most of them."""
    ours = [
        task
        for task in mteb.get_tasks(exclude_private=False)
        if type(task).__module__.startswith("mteb_ext.")
    ]
    counts = {task.metadata.name: texts_of_task(task) for task in ours}
    return dict(sorted(counts.items(), key=lambda item: -item[1])[:n])


def seconds(unit: Unit, real: dict[tuple[int, str], float], sizes: list[int]) -> float:
    """What a unit takes, the model's loading with it."""
    cells = sum(real[unit.model, task] for task in unit.tasks)
    return cells + sizes[unit.model] * LOAD_SECONDS_PER_PARAMETER


def when_free(
    parts: list[Unit], n_workers: int, real: dict[tuple[int, str], float], sizes: list[int]
) -> tuple[list[float], int]:
    """How long each worker is busy that takes the next unit when it is free."""
    busy = [0.0] * n_workers
    heapq.heapify(busy)
    for unit in parts:
        heapq.heapreplace(busy, busy[0] + seconds(unit, real, sizes))
    return busy, len(parts)


def beforehand(
    cells: list[Cell], n_workers: int, real: dict[tuple[int, str], float], sizes: list[int]
) -> tuple[list[float], int]:
    """How long each worker is busy that has its shard."""
    parts = [shard(cells, number, n_workers) for number in range(1, n_workers + 1)]
    busy = [sum(seconds(unit, real, sizes) for unit in part) for part in parts]
    return busy, sum(map(len, parts))


def hours(seconds: float) -> str:
    """A time in hours."""
    return f"{seconds / 3600:.1f} h"


if __name__ == "__main__":
    main()
