"""``mteb-ext errors``: what models get wrong."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from mteb_ext.cli.output import print_line, print_tables
from mteb_ext.cli.parsing import add_command, positive

if TYPE_CHECKING:
    from mteb_ext.cli.parsing import Commands


def add_commands(commands: Commands) -> None:
    """Add the command to the parser."""
    errors = add_command(
        commands,
        "errors",
        summary="show the pairs or queries that models get wrong, and on which parts",
        examples=["results -t WikiQA", "results -t JACSTS -m my-org/my-model -n 20 --texts"],
    )
    errors.add_argument(
        "folders",
        type=Path,
        nargs="+",
        metavar="FOLDER",
        help="what --prediction-folder was given, or a folder above",
    )
    errors.add_argument("-t", "--task", required=True, metavar="TASK", help="the task")
    errors.add_argument(
        "-m", "--model", nargs="+", default=[], metavar="MODEL", help="all models if left out"
    )
    errors.add_argument(
        "-n", "--shown", type=positive(int), default=10, metavar="N", help="how many of each model"
    )
    errors.add_argument(
        "--texts", action="store_true", help="quote the data; of data that is not public, never"
    )
    errors.set_defaults(command=_errors)


def _errors(arguments: argparse.Namespace) -> None:
    from mteb_ext.formats.walk import check_folders

    check_folders(*arguments.folders)
    from mteb_ext.analysis.wrong import wrong_of
    from mteb_ext.tables.wrong import wrong_tables

    wrong = wrong_of(
        arguments.folders,
        arguments.task,
        arguments.model,
        shown=arguments.shown,
        texts=arguments.texts,
    )
    print_tables(table for tables in wrong_tables(wrong).values() for table in tables)
    if not arguments.texts:
        print_line("Texts: --texts.")
