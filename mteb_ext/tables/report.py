"""The tables of ``mteb-ext report``, from the frames of :mod:`mteb_ext.analysis`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mteb_ext.tables.table import Table
from mteb_ext.tables.text import interval, metric_name, number

if TYPE_CHECKING:
    import pandas as pd

NONE_PUBLISHED = "No result here is on a paper's own data with a published number of its variant."


def headline_tables(
    headlines: pd.DataFrame, not_run: Mapping[str, Sequence[str]]
) -> Iterator[Table]:
    """The headlines with their intervals: one table over all runs, or the table of the only run.

    Args:
        headlines: From :func:`mteb_ext.analysis.summary.over_models`.
        not_run: From :func:`mteb_ext.analysis.summary.not_run`.
    """
    runs = headlines.groupby("run")
    missing = [_missing(not_run)] if not_run else []
    if len(runs) > 1:
        yield replace(models_table(headlines), notes=missing)
        yield Table(
            "Models",
            ("model", "revision", "tasks"),
            [
                (str(run), rows["revision"].iloc[0], str(rows["task"].nunique()))
                for run, rows in runs
            ],
        )
        return
    for run, rows in runs:
        revision = f", revision {rows['revision'].iloc[0]}"
        yield Table(
            str(run) if revision in str(run) else f"{run}{revision}",
            ("task", "split", "metric", "score", "95% interval", "data"),
            [(row.task, row.split, *_score(row), row.edition) for row in rows.itertuples()],
            missing,
        )


def _missing(not_run: Mapping[str, Sequence[str]]) -> str:
    """The tasks that runs have no result of, in one sentence."""
    if len(not_run) == 1:
        return f"No result here of {', '.join(*not_run.values())}."
    nobodys = [name for name in next(iter(not_run.values())) if _in_all(name, not_run)]
    by_tasks: dict[str, list[str]] = {", ".join(nobodys): ["any model"]} if nobodys else {}
    for run, names in not_run.items():
        if others := [name for name in names if name not in nobodys]:
            by_tasks.setdefault(", ".join(others), []).append(run)
    parts = [f"of {names} by {', '.join(runs)}" for names, runs in by_tasks.items()]
    return f"No result here {'; '.join(parts)}."


def _in_all(name: str, not_run: Mapping[str, Sequence[str]]) -> bool:
    return all(name in names for names in not_run.values())


def models_table(ranked: pd.DataFrame) -> Table:
    """One table over all runs, by task.

    Args:
        ranked: From :func:`mteb_ext.analysis.summary.over_models`.
    """
    return Table(
        "All models, by task",
        ("task", "split", "data", "model", "metric", "score", "95% interval"),
        [(row.task, row.split, row.edition, row.run, *_score(row)) for row in ranked.itertuples()],
    )


def published_table(standings: pd.DataFrame) -> Table:
    """Results beside the best published number of the same variant.

    Args:
        standings: From :func:`mteb_ext.analysis.beside.published_standings`.
    """
    rows = []
    for row in standings.itertuples():
        counted = f"{row.better} of {row.of}"
        rows.append(
            (
                row.run,
                row.task,
                row.subset or "mean",
                row.metric,
                row.variant,
                number(row.value),
                f"{number(row.best, row.best_decimals)} {row.best_system}",
                counted + (f", {row.ambiguous} ambiguous" if row.ambiguous else ""),
            )
        )
    return Table(
        "Beside published results",
        ("model", "task", "subset", "metric", "variant", "score", "best published", "better"),
        rows,
        ["Compared at the precision that a number is printed with." if rows else NONE_PUBLISHED],
    )


def _score(row: Any) -> tuple[str, str, str]:  # noqa: ANN401 - a row of headlines
    name = metric_name(row.metric, row.subset, row.subsets, row.all_subsets)
    return name, number(row.value), interval(row.low, row.high)
