"""Tables on the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table


def print_tables(*tables: Table) -> None:
    """Print tables, one after another."""
    from rich.console import Console

    console = Console()
    for table in tables:
        console.print(table)
