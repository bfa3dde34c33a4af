"""Time and memory of the metric kernels beside the libraries that compute the same numbers.

Run ``python scripts/benchmark_kernels.py``, or with ``--quick``. Each time is the median of several
runs. Trust the ratios rather than the seconds: the two times of a row share a machine and a moment.
Their results are first checked to be equal. ``growth`` is the exponent of the time between a size
and the one before; 1 is linear.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytrec_eval
from scipy import stats

from mteb_ext.metrics.correlation import pearson, spearman
from mteb_ext.metrics.ranking import average_precision
from mteb_ext.metrics.significance import (
    correlation_interval,
    mean_correlation_interval,
    mean_interval,
)

CANDIDATES = 100


@dataclass(frozen=True)
class Row:
    """One kernel at one size, and the peer it is compared with."""

    kernel: str
    size: int
    seconds: float
    peak_mib: float
    peer: str = ""
    peer_seconds: float = math.nan

    @property
    def speedup(self) -> float:
        """How many times the peer's time is ours."""
        return self.peer_seconds / self.seconds


def ranking_rows(sizes: tuple[int, ...], repeats: int) -> Iterator[Row]:
    """Average precision of lists of 100 candidates; the peers' inputs are built beforehand."""
    for n_queries in sizes:
        random = np.random.default_rng(0)
        scores = random.standard_normal((n_queries, CANDIDATES))
        labels = (random.random(scores.shape) < 0.05).astype(np.int64)
        labels[:, 0] = 1  # ranx leaves out queries without a relevant candidate
        flat = (scores.ravel(), labels.ravel(), np.arange(n_queries + 1) * CANDIDATES)
        ours = average_precision(*flat)
        seconds, peak = measure(partial(average_precision, *flat), repeats)
        for name, peer in (("pytrec_eval", pytrec_eval_peer), ("ranx", ranx_peer)):
            evaluate = peer(scores, labels)
            if evaluate is not None:
                np.testing.assert_allclose(evaluate(), ours, atol=1e-6)
                peer_seconds = median_seconds(evaluate, repeats)
                yield Row("average_precision", n_queries, seconds, peak, name, peer_seconds)


def correlation_rows(sizes: tuple[int, ...], repeats: int) -> Iterator[Row]:
    """Both coefficients of normal pairs."""
    for ours, peer in ((pearson, stats.pearsonr), (spearman, stats.spearmanr)):
        for n_pairs in sizes:
            x, noise = np.random.default_rng(0).standard_normal((2, n_pairs))
            y = x + noise
            np.testing.assert_allclose(ours(x, y), peer(x, y)[0], atol=1e-12)
            seconds, peak = measure(partial(ours, x, y), repeats)
            peer_seconds = median_seconds(partial(peer, x, y), repeats)
            name = f"scipy.stats.{peer.__name__}"
            yield Row(ours.__name__, n_pairs, seconds, peak, name, peer_seconds)


def interval_rows(repeats: int) -> Iterator[Row]:
    """The intervals of a whole evaluation, at the sizes of the package's tasks."""
    random = np.random.default_rng(0)

    def pairs(n: int) -> tuple[np.ndarray, np.ndarray]:
        gold = random.integers(26, size=n) / 5
        return gold, gold + random.standard_normal(n)

    jobs: list[tuple[str, int, Callable[[], object]]] = [
        ("interval: spearman", 3670, partial(correlation_interval, *pairs(3670), "spearman")),
        ("interval: pearson", 1379, partial(correlation_interval, *pairs(1379))),
    ]
    for k, n in ((7, 250), (14, 560)):
        subsets = [pairs(n) for _ in range(k)]
        jobs.append(
            (f"interval: {k} x pearson", k * n, partial(mean_correlation_interval, subsets))
        )
    for n in (243, 68, 20):
        values = 1 / random.geometric(0.6, size=n)
        jobs.append(("interval: mean", n, partial(mean_interval, values)))
    for kernel, size, job in jobs:
        yield Row(kernel, size, *measure(job, repeats))


def pytrec_eval_peer(scores: np.ndarray, labels: np.ndarray) -> Callable[[], list[float]]:
    """A function that evaluates with pytrec_eval, on dictionaries that are ready."""
    run = by_name(scores)
    evaluator = pytrec_eval.RelevanceEvaluator(by_name(labels), {"map"})

    def evaluate() -> list[float]:
        results = evaluator.evaluate(run)
        return [results[query]["map"] for query in run]

    return evaluate


def ranx_peer(scores: np.ndarray, labels: np.ndarray) -> Callable[[], np.ndarray] | None:
    """A function that evaluates with ranx, on objects that are ready; None without ranx."""
    try:
        import ranx
    except ImportError:
        return None
    relevant = {
        query: {name: label for name, label in judged.items() if label}
        for query, judged in by_name(labels).items()
    }
    qrels, run = ranx.Qrels(relevant), ranx.Run(by_name(scores))
    return lambda: ranx.evaluate(qrels, run, "map", return_mean=False)


def by_name(matrix: np.ndarray) -> dict[str, dict[str, float]]:
    """The rows as the dictionaries that the peers take, their names in order of position."""
    names = [f"{i:03d}" for i in range(matrix.shape[1])]
    return {f"{i:07d}": dict(zip(names, row, strict=True)) for i, row in enumerate(matrix.tolist())}


def measure(function: Callable[[], object], repeats: int) -> tuple[float, float]:
    """Median seconds of a call, and the peak of its allocations in MiB, from a run of its own."""
    seconds = median_seconds(function, repeats)
    tracemalloc.start()
    function()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return seconds, peak / 2**20


def median_seconds(function: Callable[[], object], repeats: int) -> float:
    """Median wall-clock time of a call."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def table(rows: list[Row]) -> str:
    """The rows as text, with the growth of the time since the last smaller size."""
    lines = [
        f"{'kernel':<24}{'size':>9}{'ms':>10}{'growth':>8}{'peak MiB':>10}"
        f"  {'peer':<23}{'ms':>10}{'speed-up':>10}"
    ]
    earlier: dict[tuple[str, str], Row] = {}
    for row in rows:
        before = earlier.get((row.kernel, row.peer))
        earlier[row.kernel, row.peer] = row
        growth = ""
        if row.peer and before:
            ratio = math.log(row.seconds / before.seconds) / math.log(row.size / before.size)
            growth = f"{ratio:.2f}"
        line = (
            f"{row.kernel:<24}{row.size:>9,}{row.seconds * 1e3:>10.2f}{growth:>8}"
            f"{row.peak_mib:>10.1f}"
        )
        if row.peer:
            line += f"  {row.peer:<23}{row.peer_seconds * 1e3:>10.2f}{row.speedup:>9.1f}x"
        lines.append(line)
    return "\n".join(lines)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="leave out the largest sizes")
    quick = parser.parse_args().quick
    repeats = 3 if quick else 5
    kept = 2 if quick else 3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numba's, of ranx
        rows = [
            *ranking_rows((1_000, 10_000, 100_000)[:kept], repeats),
            *correlation_rows((10_000, 100_000, 1_000_000)[:kept], repeats),
        ]
    intervals = list(interval_rows(repeats))
    print(table(rows + intervals))
    print(f"\nall intervals: {sum(row.seconds for row in intervals):.2f} s")


if __name__ == "__main__":
    main()
