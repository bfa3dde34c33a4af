"""The tables of the report page that no command prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mteb_ext.tables.table import Table
from mteb_ext.tables.text import number

if TYPE_CHECKING:
    import pandas as pd


def published_table(rows: pd.DataFrame) -> Table:
    """Published numbers beside a headline: rows of `PUBLISHED_COLUMNS`."""
    return Table(
        "Published numbers of the same variant",
        ("system", "score", "variant", "paper"),
        [
            (
                row.system + (" (ambiguous)" if row.ambiguous else ""),
                number(row.value, row.decimals),
                row.variant,
                row.source,
            )
            for row in rows.itertuples()
        ],
    )


def rescaled_table(rows: pd.DataFrame) -> Table:
    """The share of pairs within 1.0 of gold: rows of `RESCALED_COLUMNS`."""
    columns = ("model", "subset", "pairs", "smallest score", "largest score", "within 1.0 of gold")
    return Table(
        "Scores rescaled to the rating scale",
        columns,
        [
            (
                *(row.run, row.subset, f"{row.n:,}", number(row.smallest), number(row.largest)),
                f"{row.within:.1%}",
            )
            for row in rows.itertuples()
        ],
        ["Footnote 20 of the SemEval-2017 paper: bottom + (top - bottom) (s - min) / (max - min)."],
    )


def bins_table(rows: pd.DataFrame) -> Table:
    """How many queries score how much: rows of `DISTRIBUTION_COLUMNS`."""
    by_run = [(run, list(bins["queries"])) for run, bins in rows.groupby("run", sort=False)]
    ranges = [
        f"{row.low:.2f} to {row.high:.2f}" for row in rows.iloc[: len(by_run[0][1])].itertuples()
    ]
    body = [(name, *(str(n[i]) for _, n in by_run)) for i, name in enumerate(ranges)]
    return Table("Queries by score", ("score", *(str(run) for run, _ in by_run)), body)


def differing_table(rows: pd.DataFrame) -> Table:
    """The queries on which models differ most: rows of `DIFFERING_COLUMNS`."""
    runs = list(dict.fromkeys(rows["run"]))
    with_text = bool(rows["text"].any())
    body = [
        (
            *(str(query), number(group["spread"].iloc[0]), *map(number, group["value"])),
            *([group["text"].iloc[0]] if with_text else []),
        )
        for query, group in rows.groupby("query", sort=False)
    ]
    columns = ("query", "spread", *runs, *(["text"] if with_text else []))
    return Table("Queries on which the models differ most", columns, body)


def breakdown_table(rows: pd.DataFrame) -> Table:
    """The main score by part of the data: rows of `BREAKDOWN_COLUMNS`."""
    runs = sorted(set(rows["run"]))
    body = []
    for part, group in rows.groupby("part", sort=False):
        values = dict(zip(group["run"], group["value"], strict=True))
        body.append((str(part), *(number(values.get(run, float("nan"))) for run in runs)))
    return Table("By part", ("part", *runs), body)
