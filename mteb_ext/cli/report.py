"""``mteb-ext report``: the results in a folder."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from mteb_ext.cli.output import print_tables

if TYPE_CHECKING:
    from mteb_ext.cli.parsing import Commands


def add_commands(commands: Commands) -> None:
    """Add the command to the parser."""
    report = commands.add_parser("report", help="print the results in a folder, headline by task")
    report.add_argument("folder", type=Path, nargs="?", default=Path("results"))
    report.add_argument("--published", action="store_true", help="with published results beside")
    report.set_defaults(command=_report)


def _report(arguments: argparse.Namespace) -> None:
    from mteb_ext.report import published_tables, results_tables

    print_tables(*results_tables(arguments.folder))
    if arguments.published:
        print_tables(*published_tables(arguments.folder))
