"""The long form of the published tables: one row a number, derived from the tables as printed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal, InvalidOperation
from functools import cache
from importlib.resources import files
from io import StringIO
from typing import Any

import pandas as pd

from mteb_ext.errors import DataError, ProtocolError
from mteb_ext.measures import Measure
from mteb_ext.names import did_you_mean
from mteb_ext.published.printed import PRINTED, PrintedTable
from mteb_ext.published.variants import TASKS, VARIANTS, find_variant

COLUMNS: Mapping[str, type] = {
    "task": str,
    "subset": str,
    "split": str,
    "system": str,
    "run": int,
    "system_paper": str,
    "metric": str,
    "value": float,
    "printed": str,
    "decimals": int,
    "variant": str,
    "ambiguous": bool,
    "derived": bool,
    "source": str,
    "table": str,
    "note": str,
}
"""The columns of the long form and their types; `mteb_ext.published` documents them."""

LATE = "corrected or late submission"
AMBIGUOUS = "which of its variants the number follows is not settled, see docs/PROTOCOLS.md"

_DTYPES = {str: "str", int: "int64", float: "float64", bool: "bool"}

Row = Mapping[str, Any]


def load_published(task: str | None = None, *, variant: str | None = None) -> pd.DataFrame:
    """Load published results, one row a number, in the order of the papers' tables.

    Args:
        task: Keep this task only.
        variant: Keep this protocol variant only.

    Returns:
        A frame with the columns `COLUMNS`; it has no rows if the task's variants are known, but
        no number of them is.

    Raises:
        DataError: A table is damaged.
        ProtocolError: No variant of the task is known, or there is no such variant of it.

    Examples:
        >>> import mteb_ext
        >>> mteb_ext.load_published("WikiQA")["metric"].unique().tolist()
        ['map', 'mrr']
    """
    if task is not None and task not in TASKS:
        raise ProtocolError(
            f"no published numbers of {task!r} are known here.{did_you_mean(str(task), TASKS)} "
            f"There are some of {', '.join(TASKS)}."
        )
    if variant is not None:
        find_variant(variant, task)
    rows = (
        row
        for row in published_rows()
        if task in (None, row["task"]) and variant in (None, row["variant"])
    )
    return to_frame(rows, COLUMNS)


def published_for(task: str, subset: str, measure: Measure) -> pd.DataFrame:
    """The published numbers that a score of ours can stand beside: those of the same variant.

    Args:
        task: The task's name.
        subset: The subset; empty for the mean over all subsets.
        measure: What the score is a value of.

    Returns:
        A frame with the columns `COLUMNS`; it has no rows where no variant is followed. Variants
        stand apart, the settled numbers before the ambiguous ones, the best first.
    """
    rows = [
        row
        for row in published_rows()
        if (row["task"], row["subset"]) == (task, subset)
        and VARIANTS[row["variant"]].measures[row["metric"]] == measure
        # Nothing of ours is a mean over subsets that are not all of one task.
        and (subset or VARIANTS[row["variant"]].mean_of)
    ]
    return to_frame(
        sorted(rows, key=lambda row: (row["variant"], row["ambiguous"], -row["value"])), COLUMNS
    )


def to_frame(rows: Iterable[Row], columns: Mapping[str, type]) -> pd.DataFrame:
    """Build a frame with exactly these columns and types, also when there are no rows."""
    dtypes = {name: _DTYPES[kind] for name, kind in columns.items()}
    return pd.DataFrame(list(rows), columns=list(columns)).astype(dtypes)


@cache
def published_rows() -> tuple[Row, ...]:
    """Read every table once, each number as a mapping from column to value.

    Raises:
        DataError: A table has other columns, or what should be a number is none.
    """
    folder = files(__package__).joinpath("tables")
    return tuple(
        row
        for table in PRINTED
        for row in long_form(table, folder.joinpath(table.file).read_text("utf-8"))
    )


def long_form(table: PrintedTable, text: str) -> Iterator[Row]:
    """The rows of one table: those of a printed line stand together, its headline first.

    Args:
        table: What the table is.
        text: Its file.

    Raises:
        DataError: The file has other columns, or what should be a number is none.
    """
    runs: Counter[str] = Counter()
    try:
        for line in pd.read_csv(StringIO(text), dtype=str, keep_default_na=False).to_dict(
            "records"
        ):
            runs[line["system"]] += 1
            rows = list(_numbers(table, line, run=runs[line["system"]]))
            yield from sorted([*rows, *_means(rows)], key=lambda row: row["subset"] != "")
    except (KeyError, InvalidOperation) as error:
        raise DataError(f"published table {table.file}: {error!r}") from error


def _numbers(table: PrintedTable, line: Mapping[str, str], run: int) -> Iterator[Row]:
    notes = [LATE if line.get("late") == "*" else "", line.get("note", ""), table.note]
    for name, column in table.columns.items():
        if not line[name]:
            continue
        value = Decimal(line[name]).scaleb(-2 if table.percent else 0)
        ambiguous = len(column.variants) > 1
        for variant in column.variants:
            yield {
                "task": column.task,
                "subset": column.subset,
                "split": "test",
                "system": line["system"],
                "run": run,
                "system_paper": line.get("paper", ""),
                "metric": column.metric,
                "value": float(value),
                "printed": line[name],
                "decimals": -int(value.as_tuple().exponent),
                "variant": variant,
                "ambiguous": ambiguous,
                "derived": False,
                "source": table.paper.key,
                "table": table.place,
                "note": "; ".join(filter(None, [*notes, AMBIGUOUS if ambiguous else ""])),
            }


def _means(rows: Iterable[Row]) -> Iterator[Row]:
    """The headlines that the numbers of one printed line give, to as many decimals as they have."""
    for variant in VARIANTS.values():
        parts = [
            row
            for row in rows
            if row["task"] in variant.subsets and row["subset"] in variant.mean_of
        ]
        if parts and len(parts) == len(variant.mean_of):
            total = sum(Decimal(str(row["value"])) for row in parts)  # exact, so that ties are ties
            note = f"mean of the printed {', '.join(variant.mean_of)}"
            yield {
                **parts[0],
                "subset": "",
                "value": float(round(total / len(parts), parts[0]["decimals"])),
                "printed": "",
                "variant": variant.id,
                "derived": True,
                "note": "; ".join(filter(None, [parts[0]["note"], note])),
            }
