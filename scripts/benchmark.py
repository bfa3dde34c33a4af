"""Time and memory of this package beside its peers: the same data, the same model, one run.

Run ``python scripts/benchmark.py``, or with ``--quick`` for smaller sizes. The runners of a case
take turns, round after round, so that they share the machine's moods; a time is the median over the
rounds. Trust the ratios more than the seconds: each is the median of the rounds' own ratios. Before
a case is reported, its runners' results are checked to be equal.

``growth`` is the exponent of time or memory between a size and the one before: 1 is linear. Peak
memory is what the process grows by, the libraries written in C included; Linux only.
"""

from __future__ import annotations

import argparse
import os
import platform
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import version
from typing import Literal

import mteb
import torch
from benchmark_batches import batch_cases, padding_table, paddings
from benchmark_kernels import correlation_cases, interval_cases, ranking_cases
from benchmark_measuring import OURS, Row, rows_for, table, with_growth
from benchmark_tasks import (
    ENCODE,
    FLOOR,
    OUTSIDE,
    STOCK,
    SUITE,
    TimedModel,
    large_cases,
    suite_rows,
    task_cases,
)
from datasets import disable_progress_bars
from default_model import default_model

from mteb_ext.plugin.discovery import own_tasks

PARTS = ("batches", "tasks", "suite", "large", "kernels")
PAIRS_AND_QUESTIONS = ((250_000, 1_000_000), (5_000, 20_000))
LIBRARIES = ("mteb", "sentence-transformers", "torch", "numpy", "scipy", "pytrec_eval-terrier")


@dataclass(frozen=True)
class Target:
    """What the package promises of a case: a bound of the ratio of two runners' times."""

    case: str
    over: str
    under: str
    sign: Literal["<=", ">="]
    bound: float

    def verdict(self, rows: Iterable[Row]) -> str:
        """The ratio at the case's largest size, and whether it holds; empty if not measured."""
        ratio = {row.runner: row.ratio for row in rows if row.case == self.case}
        if not {self.over, self.under} <= ratio.keys():
            return ""
        value = ratio[self.over] / ratio[self.under]
        met = value <= self.bound if self.sign == "<=" else value >= self.bound
        return (
            f"{self.case}: {self.over} / {self.under} = {value:.3g}, "
            f"wanted {self.sign} {self.bound}: {'met' if met else 'MISSED'}"
        )


TARGETS = (
    Target("JACSTS", STOCK, OURS, ">=", 1.5),
    Target(SUITE, OURS, FLOOR, "<=", 0.7),
    Target(SUITE, OUTSIDE, FLOOR, "<=", 0.1),
    *(
        Target(f"MAP, {share} relevant", peer, OURS, ">=", bound)
        for share in ("5%", "50%")
        for peer, bound in (("pytrec_eval", 5), ("ranx", 1))
    ),
)


def machine() -> str:
    """What the figures depend on."""
    versions = ", ".join(f"{library} {version(library)}" for library in LIBRARIES)
    return (
        f"{os.cpu_count()} CPUs ({platform.machine()}), Python {platform.python_version()}, "
        f"{versions}"
    )


def main() -> None:
    """Print the table and the targets."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, few rounds, no targets")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, help="parts to measure")
    parser.add_argument("--model", help="sentence-transformers model (default: all-MiniLM-L6-v2)")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    disable_progress_bars()

    rows: list[Row] = []
    names = [task.metadata.name for task in own_tasks() if task.metadata.is_public]
    names = ["TRECQA"] if arguments.quick else names
    if {"batches", "tasks", "suite"} & set(arguments.only):
        torch.set_num_threads(1)  # the time on one core moves least with what else is running
        model = TimedModel(arguments.model or default_model(), device="cpu")
        model.encode(["warm up"] * 64, **ENCODE)
    if "batches" in arguments.only:
        tasks = [mteb.get_task(name) for name in names]
        for task in tasks:
            task.load_data()
        print(padding_table(paddings(tasks, model)) + "\n")
        rows += rows_for(batch_cases(model, tasks), rounds=1)
    if "tasks" in arguments.only:
        shares, rounds = ((0.1,), 1) if arguments.quick else ((0.25, 1.0), 3)
        rows += rows_for(task_cases(model, ("JACSTS", "WikiQA"), shares), rounds)
    if "suite" in arguments.only:
        rows += suite_rows(model, names, rounds=1)
    if "large" in arguments.only:
        pairs, questions = ((10_000,), (500,)) if arguments.quick else PAIRS_AND_QUESTIONS
        rows += rows_for(large_cases(pairs, questions), rounds=1 if arguments.quick else 3)
    if "kernels" in arguments.only:
        kept, rounds = (2, 3) if arguments.quick else (3, 5)
        rows += rows_for(ranking_cases((1_000, 10_000, 100_000)[:kept]), rounds)
        rows += rows_for(correlation_cases((10_000, 100_000, 1_000_000)[:kept]), rounds)
        rows += rows_for(interval_cases(), rounds)
    rows = with_growth(rows)
    print(f"{machine()}\n\n{table(rows)}")
    if not arguments.quick:  # they are for the full sizes
        verdicts = (target.verdict(rows) for target in TARGETS)
        print("\n" + "\n".join(filter(None, verdicts)))


if __name__ == "__main__":
    main()
