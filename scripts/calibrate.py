"""Simulates what the tests and intervals promise: error rates, power and coverage, as Markdown.

Run ``python scripts/calibrate.py``; ``--simulations 200`` gives a first impression. Each design is
simulated twice: with models that do not differ, which gives the share of false alarms at the level
of 5% and the mean smallest difference that the test set resolves; and with models that differ by
it, which gives the power and the coverage of the interval of the difference. A p-value takes 999
random draws here and an interval 2,000 resamples, fewer than in use, to bound the time.

``--predictions FOLDER`` takes real systems instead, because normal data calibrate nothing: their
scores, standardised, change places at random, item by item, so that nothing differs.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import optimize, special, stats

from mteb_ext.metrics import comparison, significance
from mteb_ext.metrics.comparison import Comparison, compare_correlations_of, compare_means_of
from mteb_ext.metrics.significance import (
    Interval,
    correlation_interval,
    mean_correlation_interval,
    mean_interval,
)

Floats = NDArray[np.float64]
MODELS = 10
CUTS = (np.arange(5) - 2) / 1.2  # between the six levels of an ordinal gold score
GRID = np.linspace(-8, 8, 16_001)


@dataclass(frozen=True)
class Design:
    """How models are drawn: ``draw`` takes the differences of all from a common score."""

    test: str
    sample: str
    draw: Callable[[Generator, Floats], list[Comparison]]


def ordinal(latent: Floats) -> Floats:
    """Gold scores from 0 to 5, many of which tie."""
    return np.searchsorted(CUTS, latent).astype(np.float64)


def ordinal_spearman(r: float) -> float:
    """Spearman's correlation with ordinal gold, if the latent correlation is ``r``."""
    density = stats.norm.pdf(GRID)
    density /= density.sum()
    level = ordinal(GRID).astype(int)
    share = np.bincount(level, density)
    gold = (np.cumsum(share) - share / 2)[level] - 0.5
    grade = special.ndtr(r * GRID / math.sqrt(2 - r * r)) - 0.5
    return float((gold * grade * density).sum() / math.sqrt((gold**2 * density).sum() / 12))


def correlated(
    random: Generator, differences: Floats, *, sizes: tuple[int, ...], r: float, method: str
) -> list[Comparison]:
    """Models that share half of their errors; for Spearman on scales of their own."""
    if method == "pearson":
        latent = r + differences
    else:
        wanted = ordinal_spearman(r) + differences
        latent = np.array([latent_correlation(float(w)) for w in wanted])
    subsets = []
    for n in sizes:
        gold, common = random.standard_normal((2, n, 1))
        errors = math.sqrt(0.5) * (common + random.standard_normal((n, latent.size)))
        scores = (latent * gold + np.sqrt(1 - latent**2) * errors).T
        if method == "spearman":
            scores[::2] = np.exp(scores[::2])
            subsets.append((ordinal(gold[:, 0]), scores))
        else:
            subsets.append((gold[:, 0], scores))
    return compare_correlations_of(subsets, method, seed=int(random.integers(1 << 30)))


_LATENT: dict[float, float] = {}


def latent_correlation(spearman: float) -> float:
    """The inverse of `ordinal_spearman`."""
    if spearman not in _LATENT:
        _LATENT[spearman] = optimize.brentq(lambda r: ordinal_spearman(r) - spearman, 0, 0.999)
    return _LATENT[spearman]


def ranked(random: Generator, differences: Floats, *, n: int) -> list[Comparison]:
    """Average precisions of queries that are easy or hard for all models alike."""
    values = average_precisions(random, n, differences.size) + differences[:, np.newaxis]
    return compare_means_of(values, seed=int(random.integers(1 << 30)))


def average_precisions(random: Generator, n: int, n_models: int) -> Floats:
    """One over the rank of the only relevant candidate: half of them 1, some near 0."""
    hardness = random.standard_normal(n) + random.standard_normal((n_models, n))
    return 1 / np.ceil(np.exp(hardness))


def designs() -> Iterator[Design]:
    """What is simulated."""
    for n in (50, 100, 250, 1379):
        draw = partial(correlated, sizes=(n,), r=0.7, method="pearson")
        yield Design("Pearson", f"{n} pairs", draw)
    for n in (50, 100, 250, 3670):
        draw = partial(correlated, sizes=(n,), r=0.75, method="spearman")
        yield Design("Spearman", f"{n} pairs", draw)
    for method in ("pearson", "spearman"):
        draw = partial(correlated, sizes=(560,) * 7, r=0.6, method=method)
        yield Design(f"mean of {method.title()}", "7 x 560 pairs", draw)
    draw = partial(correlated, sizes=(250,) * 6, r=0.75, method="pearson")
    yield Design("mean of Pearson", "6 x 250 pairs", draw)
    for n in (20, 68, 243):
        yield Design("paired randomisation", f"{n} queries", partial(ranked, n=n))


def of_two(design: Design, simulations: int) -> tuple[str, ...]:
    """False alarms, the resolvable difference, power at it, and coverage."""
    random = np.random.default_rng(0)
    null = [design.draw(random, np.zeros(2))[0] for _ in range(simulations)]
    difference = float(np.mean([c.resolvable for c in null]))
    shifts = np.array([difference, -difference]) / 2
    apart = [design.draw(random, shifts)[0] for _ in range(simulations)]
    return (
        design.test,
        design.sample,
        percent(c.p <= 0.05 for c in null),
        f"{difference:.4f}",
        percent(c.p <= 0.05 for c in apart),
        percent(c.low <= difference <= c.high for c in apart),
    )


def of_ten(design: Design, simulations: int) -> tuple[str, ...]:
    """Any false alarm among ten equal models, and among five while five others are worse."""
    random = np.random.default_rng(1)
    resolvable = np.mean([c.resolvable for c in design.draw(random, np.zeros(MODELS))])
    half = np.repeat([0.0, -2 * resolvable], MODELS // 2)

    def alarms(differences: Floats) -> str:
        def false_alarm() -> bool:
            drawn = design.draw(random, differences)
            return any(
                c.p_adjusted <= 0.05 and differences[c.first] == differences[c.second]
                for c in drawn
            )

        return percent(false_alarm() for _ in range(simulations))

    return design.test, design.sample, alarms(np.zeros(MODELS)), alarms(half)


def of_one(simulations: int) -> Iterator[tuple[str, ...]]:
    """Coverage of the intervals of single scores."""
    spearman = partial(correlation_interval, method="spearman")
    mean = float(average_precisions(np.random.default_rng(0), 4_000_000, 1).mean())
    rows: list[tuple[str, str, Callable[..., Interval], Callable[[Generator], Any], float]] = [
        *(
            ("Pearson", f"{n} pairs", correlation_interval, partial(pairs, n=n), 0.7)
            for n in (20, 250, 5000)
        ),
        *(
            ("Spearman", f"{n} pairs", spearman, partial(tied_pairs, n=n), ordinal_spearman(0.7))
            for n in (250, 5000)
        ),
        ("mean of Pearson", "6 x 250 pairs", mean_correlation_interval, six_subsets, 0.7),
        *(
            (
                "MAP",
                f"{n} queries",
                mean_interval,
                partial(average_precisions, n=n, n_models=1),
                mean,
            )
            for n in (20, 68, 243, 5000)
        ),
    ]
    for name, sample, interval, draw, truth in rows:
        random = np.random.default_rng(2)
        drawn = (interval(*draw(random)) for _ in range(simulations))
        yield name, sample, percent(low <= truth <= high for low, high in drawn)


def pairs(random: Generator, n: int) -> tuple[Floats, Floats]:
    """Normal pairs with a correlation of 0.7."""
    x, noise = random.standard_normal((2, n))
    return x, 0.7 * x + math.sqrt(0.51) * noise


def tied_pairs(random: Generator, n: int) -> tuple[Floats, Floats]:
    """The same, of which one variable is ordinal."""
    x, y = pairs(random, n)
    return ordinal(x), y


def six_subsets(random: Generator) -> tuple[list[tuple[Floats, Floats]]]:
    """Six subsets of 250 pairs."""
    return ([pairs(random, 250) for _ in range(6)],)


SWAPPED = (
    ("STS17SemEval", "5-en-en"),
    ("STSBenchmarkSemEval", "default"),
    ("WMT17Metrics", "cs-en"),
    ("WMT17Metrics", "zh-en"),
    ("WikiQA", "default"),
)
"""The test sets whose real scores change places."""


def swapped(folder: str, simulations: int) -> Iterator[tuple[str, ...]]:
    """False alarms where real systems' scores change places; of pairs and of whole families."""
    from mteb_ext.analysis.cells import find_runs, load_cells
    from mteb_ext.analysis.folder import ResultsFolder

    held = ResultsFolder.of(folder)
    for name, subset in SWAPPED:
        cells = load_cells(held, name, find_runs(held, name)[name]).cells
        [cell] = [cell for cell in cells if cell.subset == subset]
        scores, main = cell.scores(cell.main), cell.main
        gold = cell.gold.of(main) if main.is_correlation else None
        coefficient = main.coefficient if main.is_correlation else ""
        for n in (scores.shape[1], *([20] if gold is None else [])):
            for runs in sorted({2, len(scores)}):
                yield (
                    f"{name}, {subset}",
                    str(n),
                    str(runs),
                    *_alarms(scores[:runs], gold, coefficient, n, simulations),
                )


def _alarms(
    scores: Floats, gold: Floats | None, coefficient: str, n: int, simulations: int
) -> tuple[str, str, str]:
    """The share of draws with any alarm, of comparisons with one, and of Williams' tests."""
    random = np.random.default_rng(3)
    if gold is not None:
        scores = stats.zscore(scores, axis=1)
    found = []
    for _ in range(simulations):
        items = random.choice(scores.shape[1], n, replace=False)
        dealt = random.permuted(scores[:, items], axis=0)
        seed = int(random.integers(1 << 30))
        if gold is None:
            found.append(compare_means_of(dealt, seed=seed))
        else:
            subsets = [(gold[items], dealt)]
            found.append(compare_correlations_of(subsets, coefficient, seed=seed))
    single = [c for drawn in found for c in drawn]
    williams = [c.p_williams <= 0.05 for c in single if c.p_williams is not None]
    return (
        percent(any(c.p_adjusted <= 0.05 for c in drawn) for drawn in found),
        percent(c.p <= 0.05 for c in single),
        percent(iter(williams)) if williams else "",
    )


def percent(happened: Iterator[bool]) -> str:
    """The share of what happened."""
    return f"{100 * np.mean(list(happened)):.1f}%"


def show(header: str, rows: Iterator[tuple[str, ...]]) -> None:
    """Print a Markdown table row by row."""
    print(f"\n{header}\n|{' --- |' * (header.count('|') - 1)}", flush=True)
    for row in rows:
        print(f"| {' | '.join(row)} |", flush=True)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--simulations", type=int, default=2000, help="of each kind (2000)")
    parser.add_argument("--predictions", help="a folder of real systems' predictions")
    arguments = parser.parse_args()
    simulations = arguments.simulations
    comparison._DRAWS = comparison._RESAMPLES = comparison._FEWEST = 999
    significance._MOST = 2000
    if arguments.predictions:
        show(
            "| test set | n | systems | any false alarm, corrected | single | Williams' test |",
            swapped(arguments.predictions, simulations),
        )
        return
    chosen = list(designs())
    show(
        "| test | sample | false alarms | smallest difference | power at it | coverage |",
        (of_two(design, simulations) for design in chosen),
    )
    samples = {"250 pairs", "6 x 250 pairs", "20 queries", "243 queries"}
    tens = [design for design in chosen if design.sample in samples]
    show(
        "| ten models | sample | any false alarm | the same, five of ten worse |",
        (of_ten(design, simulations) for design in tens),
    )
    show("| interval of | sample | coverage |", of_one(simulations))


if __name__ == "__main__":
    main()
