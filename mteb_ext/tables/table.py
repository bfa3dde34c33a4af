"""A table of text, and how a terminal, a pipe or a file shows it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len

from mteb_ext.tables.text import printable

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True)
class Table:
    """Rows of text under column names.

    Attributes:
        title: What stands above it; empty for nothing.
        columns: The column names.
        rows: The cells, as many in each row as there are columns.
        notes: Lines that stand below it.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()


def plain_lines(table: Table) -> Iterator[str]:
    """The table without colour or frame, a line a row, however long: what ``grep`` expects."""
    if table.title:
        yield printable(table.title)
    rows = [[printable(cell) for cell in row] for row in (table.columns, *table.rows)]
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        padded = (
            cell + " " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True)
        )
        yield "  ".join(padded).rstrip()
    yield from map(printable, table.notes)


def print_framed(table: Table, console: Console) -> None:
    """Print the table with a frame, or without one where the terminal is too narrow for it.

    A frame that does not fit would cut names, and they would not be names any more.
    """
    from rich.table import Table as RichTable
    from rich.text import Text

    framed = RichTable(title=Text(printable(table.title)) if table.title else None)
    framed.title_justify = "left"
    for column in table.columns:
        framed.add_column(Text(printable(column)), no_wrap=True)
    for row in table.rows:
        framed.add_row(*(Text(printable(cell)) for cell in row))
    unlimited = console.options.update(max_width=sys.maxsize)
    if console.measure(framed, options=unlimited).maximum <= console.width:
        console.print(framed)
        for note in table.notes:
            console.print(Text(printable(note)))
    else:
        for line in plain_lines(table):
            console.print(Text(line), soft_wrap=True)
