"""How the benchmark measures: runners of a case take turns, and their medians make a table."""

from __future__ import annotations

import ctypes
import gc
import math
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any, TypeAlias

import numpy as np

OURS = "mteb_ext"
LINUX = sys.platform == "linux"

Runner: TypeAlias = Callable[[], Mapping[str, Any]]


@dataclass(frozen=True)
class Case:
    """One piece of work and the ways to do it, of which the first is this package's.

    A runner returns its results by name. They must agree with the first runner's of the same name
    to within the tolerance.
    """

    name: str
    size: int
    runners: Mapping[str, Runner]
    tolerance: float = 1e-6


@dataclass(frozen=True)
class Run:
    """What one call of a runner took and gave."""

    seconds: float
    cpu: float
    peak_mib: float
    result: Mapping[str, Any]


@dataclass(frozen=True)
class Row:
    """A runner of a case: medians over the rounds, and the memory of the first.

    Attributes:
        ratio: The runner's time over that of this package.
        cpu_ratio: The same of the time on all processors.
        growth: Exponent of the time since the case's size before; nan at the first.
        peak_growth: The same of the memory.
    """

    case: str
    size: int
    runner: str
    seconds: float
    ratio: float
    cpu_ratio: float
    peak_mib: float
    growth: float = math.nan
    peak_growth: float = math.nan


def rows_for(cases: Iterable[Case], rounds: int) -> list[Row]:
    """Measure cases one after the other; each is built when its turn comes."""
    return [row for case in cases for row in rows_of(case, measure(case, rounds))]


def measure(case: Case, rounds: int) -> dict[str, list[Run]]:
    """Let the runners of a case take turns, every other round in reverse order.

    Memory is measured in the first round, which begins by returning what earlier work left free; a
    later round may use it again, as a program does that has run for a while.
    """
    print(f"... {case.name}, {case.size:,}", file=sys.stderr, flush=True)
    runs: dict[str, list[Run]] = {name: [] for name in case.runners}
    for i in range(rounds):
        for name in list(case.runners)[:: -1 if i % 2 else 1]:
            runs[name].append(run_once(case.runners[name], trim=i == 0))
    expected = runs[OURS][0].result
    for name in list(case.runners)[1:]:
        for key, value in runs[name][0].result.items():
            np.testing.assert_allclose(
                value, expected[key], rtol=0, atol=case.tolerance, err_msg=f"{name}: {key}"
            )
    return runs


def run_once(function: Runner, *, trim: bool) -> Run:
    """Call a runner, after returning free memory to the system where that is asked for."""
    gc.collect()
    if LINUX:
        if trim:
            ctypes.CDLL(None).malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak starts anew
    before = memory_mib("VmRSS")
    start, start_cpu = time.perf_counter(), time.process_time()
    result = function()
    seconds, cpu = time.perf_counter() - start, time.process_time() - start_cpu
    return Run(seconds, cpu, memory_mib("VmHWM") - before, result)


def memory_mib(field: str) -> float:
    """An entry of the process's status, in MiB; nan where the system has none."""
    if not LINUX:
        return math.nan
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) / 1024


def rows_of(case: Case, runs: Mapping[str, Sequence[Run]]) -> list[Row]:
    """The medians of a case, and the memory of its first round."""
    own = runs[OURS]
    return [
        Row(
            case.name,
            case.size,
            name,
            seconds=median(run.seconds for run in taken),
            ratio=median(a.seconds / b.seconds for a, b in zip(taken, own, strict=True)),
            cpu_ratio=median(a.cpu / b.cpu for a, b in zip(taken, own, strict=True)),
            peak_mib=taken[0].peak_mib,
        )
        for name, taken in runs.items()
    ]


def with_growth(rows: Iterable[Row]) -> list[Row]:
    """Add how time and memory grow since the last smaller size."""
    smaller: dict[tuple[str, str], Row] = {}
    grown = []
    for row in rows:
        before = smaller.get((row.case, row.runner))
        smaller[row.case, row.runner] = row
        if before:
            scale = math.log(row.size / before.size)
            growth = math.log(row.seconds / before.seconds) / scale
            peaks = (row.peak_mib, before.peak_mib)
            known = min(peaks) > 1  # MiB: below, it is the allocator's noise
            peak_growth = math.log(peaks[0] / peaks[1]) / scale if known else math.nan
            row = replace(row, growth=growth, peak_growth=peak_growth)  # noqa: PLW2901
        grown.append(row)
    return grown


def table(rows: Iterable[Row]) -> str:
    """The rows as a Markdown table."""
    lines = [
        "| case | size | runner | ms | ratio | CPU ratio | growth | peak MiB | growth |",
        "| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for row in rows:
        cells = (
            row.case,
            f"{row.size:,}",
            row.runner,
            number(1000 * row.seconds, ",.2f"),
            number(row.ratio, ".2f"),
            number(row.cpu_ratio, ".2f"),
            number(row.growth, ".2f"),
            number(row.peak_mib, ",.1f"),
            number(row.peak_growth, ".2f"),
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def number(value: float, form: str) -> str:
    """A number, or nothing where there is none."""
    return "" if math.isnan(value) else format(value, form)
