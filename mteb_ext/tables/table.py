"""A table of text, and how a terminal, a pipe or a file shows it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size

from mteb_ext.tables.text import printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as RichTable

_NARROWEST = 16  # columns to which a name is shortened


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
    """Print the table with a frame, its longest names shortened where the terminal is narrow.

    Without a frame where not even that makes it fit: cut names would not be names any more.
    """
    from rich.text import Text

    unlimited = console.options.update(max_width=sys.maxsize)
    framed = _framed(table)
    if (excess := console.measure(framed, options=unlimited).maximum - console.width) > 0:
        framed = _framed(narrowed(table, excess))
    if console.measure(framed, options=unlimited).maximum <= console.width:
        console.print(framed)
        for note in table.notes:
            console.print(Text(printable(note)))
    else:
        for line in plain_lines(table):
            console.print(Text(line), soft_wrap=True)


def shortened(text: str, width: int) -> str:
    """The text without its middle where it is wider: both ends of a name tell models apart.

    Args:
        text: The text.
        width: The largest width, at least 3, in columns of a terminal.
    """
    if cell_len(text) <= width:
        return text
    head = set_cell_size(text, (width - 1) // 2).rstrip()
    tail = text
    while cell_len(tail) > width - 1 - cell_len(head):
        tail = tail[1:]
    return f"{head}…{tail}"


def narrowed(table: Table, excess: int) -> Table:
    """The table, narrower by so many columns where that leaves different cells different."""
    rows = [[printable(cell) for cell in row] for row in table.rows]
    widths = [max(map(cell_len, column)) for column in zip(table.columns, *rows, strict=True)]
    for _ in range(excess):
        widest = widths.index(max(widths))
        widths[widest] = max(widths[widest] - 1, _NARROWEST)
    cut = [tuple(map(shortened, row, widths)) for row in rows]
    alike = len({*chain(*cut)}) < len({*chain(*rows)})
    return table if alike else replace(table, rows=cut)


def _framed(table: Table) -> RichTable:
    from rich.table import Table as RichTable
    from rich.text import Text

    framed = RichTable(title=Text(printable(table.title)) if table.title else None)
    framed.title_justify = "left"
    for column in table.columns:
        framed.add_column(Text(printable(column)), no_wrap=True)
    for row in table.rows:
        framed.add_row(*(Text(printable(cell)) for cell in row))
    return framed
