"""The benchmark's kernels: arrays in, numbers out, beside the libraries that compute the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytrec_eval
from benchmark_measuring import OURS, Case, Runner
from scipy import stats

from mteb_ext.metrics.correlation import pearson, spearman
from mteb_ext.metrics.ranking import average_precision
from mteb_ext.metrics.significance import (
    correlation_interval,
    mean_correlation_interval,
    mean_interval,
)

CANDIDATES = 100


def ranking_cases(sizes: Sequence[int]) -> Iterator[Case]:
    """Average precision of lists of 100 candidates; the inputs of all are built beforehand.

    No scores tie, because every library treats ties in its own way.
    """
    for share in (0.05, 0.5):
        for n_queries in sizes:
            random = np.random.default_rng(0)
            scores = random.permuted(np.tile(np.arange(float(CANDIDATES)), (n_queries, 1)), axis=1)
            labels = (random.random(scores.shape) < share).astype(np.int64)
            labels[:, 0] = 1  # ranx leaves out queries without a relevant candidate
            offsets = np.arange(n_queries + 1) * CANDIDATES
            runners = {OURS: partial(our_map, scores.ravel(), labels.ravel(), offsets)}
            for name, peer in RANKING_PEERS.items():
                runners |= {name: peer(scores, labels)} if find_spec(name) else {}
            yield Case(f"MAP, {share:.0%} relevant", n_queries, runners)


def our_map(scores: np.ndarray, labels: np.ndarray, offsets: np.ndarray) -> Mapping[str, Any]:
    """Average precision by this package."""
    return {"map": average_precision(scores, labels, offsets)}


def pytrec_eval_peer(scores: np.ndarray, labels: np.ndarray) -> Runner:
    """pytrec_eval, on dictionaries that are ready."""
    run = by_name(scores)
    evaluator = pytrec_eval.RelevanceEvaluator(by_name(labels), {"map"})

    def evaluate_run() -> Mapping[str, Any]:
        results = evaluator.evaluate(run)
        return {"map": [results[query]["map"] for query in run]}

    return evaluate_run


def ranx_peer(scores: np.ndarray, labels: np.ndarray) -> Runner:
    """The library ranx, compiled, on objects that are ready."""
    import ranx

    relevant = {
        query: {name: label for name, label in judged.items() if label}
        for query, judged in by_name(labels).items()
    }
    qrels, run = ranx.Qrels(relevant), ranx.Run(by_name(scores))

    def evaluate_run() -> Mapping[str, Any]:
        return {"map": ranx.evaluate(qrels, run, "map", return_mean=False)}

    evaluate_run()
    return evaluate_run


RANKING_PEERS = {"pytrec_eval": pytrec_eval_peer, "ranx": ranx_peer}


def by_name(matrix: np.ndarray) -> dict[str, dict[str, float]]:
    """The rows as the dictionaries that the peers take, their names in order of position."""
    names = [f"{i:03d}" for i in range(matrix.shape[1])]
    return {f"{i:07d}": dict(zip(names, row, strict=True)) for i, row in enumerate(matrix.tolist())}


def correlation_cases(sizes: Sequence[int]) -> Iterator[Case]:
    """Both coefficients, of normal pairs."""
    for own, peer in ((pearson, stats.pearsonr), (spearman, stats.spearmanr)):
        for n_pairs in sizes:
            x, noise = np.random.default_rng(0).standard_normal((2, n_pairs))
            runners = {
                OURS: lambda own=own, x=x, y=x + noise: {"r": own(x, y)},
                "scipy": lambda peer=peer, x=x, y=x + noise: {"r": peer(x, y)[0]},
            }
            yield Case(own.__name__, n_pairs, runners, tolerance=1e-12)


def interval_cases() -> Iterator[Case]:
    """The 95% intervals of an evaluation, at the sizes of the package's tasks."""
    random = np.random.default_rng(0)

    def pairs(n: int) -> tuple[np.ndarray, np.ndarray]:
        gold = random.integers(26, size=n) / 5
        return gold, gold + random.standard_normal(n)

    queries = 1 / random.geometric(0.6, size=243)
    subsets = [pairs(560) for _ in range(7)]
    for kind, size, interval in (
        ("of Spearman", 3670, partial(correlation_interval, *pairs(3670), "spearman")),
        ("of Pearson", 1379, partial(correlation_interval, *pairs(1379))),
        ("of 7 Pearsons' mean", 7 * 560, partial(mean_correlation_interval, subsets)),
        ("of a mean", 243, partial(mean_interval, queries)),
        (
            "of a large Spearman",
            1_000_000,
            partial(correlation_interval, *pairs(1_000_000), "spearman"),
        ),
    ):
        runners = {OURS: lambda interval=interval: interval()._asdict()}
        yield Case(f"interval {kind}", size, runners)
