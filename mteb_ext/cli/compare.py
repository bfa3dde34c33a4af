"""``mteb-ext compare``: test the difference of models."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from mteb_ext.cli.output import print_tables

if TYPE_CHECKING:
    from mteb_ext.cli.parsing import Commands


def add_commands(commands: Commands) -> None:
    """Add the command to the parser."""
    compare = commands.add_parser("compare", help="test two models' difference on one task")
    compare.add_argument("task", metavar="TASK")
    compare.add_argument("first", type=Path, help="prediction folder of the first model")
    compare.add_argument("second", type=Path, help="prediction folder of the second model")
    compare.set_defaults(command=_compare)


def _compare(arguments: argparse.Namespace) -> None:
    from mteb_ext.rendering.compare import comparison_table
    from mteb_ext.results.comparing import compare_two

    frame = compare_two(arguments.task, arguments.first, arguments.second)
    print_tables([comparison_table(arguments.task, frame)])
