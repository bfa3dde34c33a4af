"""``mteb-ext compare`` and ``mteb-ext ties``: what prediction files say beyond a score."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from mteb_ext.cli.output import print_tables, print_text, write_whole_file
from mteb_ext.cli.parsing import add_command
from mteb_ext.errors import DataError

if TYPE_CHECKING:
    from mteb_ext.cli.parsing import Commands

_FORMATS = {".md": "markdown", ".tex": "latex", ".csv": "csv", ".json": "json", ".html": "html"}


def add_commands(commands: Commands) -> None:
    """Add the commands to the parser."""
    compare = add_command(
        commands,
        "compare",
        summary="test the differences of models on tasks, from their prediction files",
        examples=["results", "results -t WikiQA --metric map mrr -o table.tex"],
    )
    _add_selection(compare)
    compare.add_argument(
        "--metric",
        nargs="+",
        default=[],
        help="result keys, as ndcg_at_10 mrr; main scores if left out",
    )
    compare.add_argument("--baseline", metavar="MODEL", help="compare all others with this one")
    compare.add_argument(
        "--group", action="store_true", help="one run for all runs of a model: dev's choice"
    )
    compare.add_argument("--level", type=float, default=0.05, help="the level of significance")
    compare.add_argument(
        "--margin", type=float, help="test also whether models differ by less than this"
    )
    compare.add_argument(
        "--table", action="store_true", help="only models and tasks, as Markdown or LaTeX"
    )
    compare.add_argument(
        "--all",
        action="store_true",
        help="every difference, ranks on each task, and published numbers",
    )
    compare.add_argument(
        "--items",
        type=Path,
        metavar="FILE.csv",
        help="write every difference there, query by query or pair by pair",
    )
    compare.add_argument(
        "--format", choices=_FORMATS.values(), help="by the ending of -o if left out"
    )
    compare.add_argument("-o", "--output", type=Path, metavar="FILE", help="write it there")
    compare.set_defaults(command=_compare)

    ties = add_command(
        commands,
        "ties",
        summary="show what the order of equal scores does to ranking metrics",
        examples=["results", "results -t WikiQA --all"],
    )
    _add_selection(ties)
    ties.add_argument(
        "--all", action="store_true", help="every metric, also where no order can move it"
    )
    ties.set_defaults(command=_ties)


def _add_selection(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folders",
        type=Path,
        nargs="+",
        metavar="FOLDER",
        help="what --prediction-folder was given, or a folder above",
    )
    parser.add_argument(
        *("-t", "--tasks"), nargs="+", default=[], metavar="TASK", help="all if left out"
    )


def _compare(arguments: argparse.Namespace) -> None:
    from mteb_ext.formats.walk import check_folders

    check_folders(*arguments.folders)
    from mteb_ext.analysis.comparing import compare_runs
    from mteb_ext.tables.compare import brief_tables, comparison_tables
    from mteb_ext.tables.comparison_forms import FORMATS, items_to_csv, to_markdown

    output = arguments.output
    form = arguments.format or (output and _FORMATS.get(output.suffix))
    if output and not form and output.suffix != ".txt":
        endings = ", ".join([*_FORMATS, ".txt"])
        raise DataError(f"{output}: give it one of the endings {endings}, or say --format.")
    if not 0 < arguments.level < 1:
        raise DataError(f"--level {arguments.level}: give a number between 0 and 1, as 0.05.")
    if arguments.margin is not None and not arguments.margin > 0:
        raise DataError(f"--margin {arguments.margin}: give a difference above 0, as 0.01.")
    items = arguments.items
    if items and items.suffix != ".csv":
        raise DataError(f"--items {items}: give it the ending .csv.")
    compared = compare_runs(
        arguments.folders,
        arguments.tasks,
        metric=arguments.metric,
        baseline=arguments.baseline,
        group=arguments.group,
        level=arguments.level,
        margin=arguments.margin,
    )
    if items:
        write_whole_file(items, items_to_csv(compared))
    if arguments.table and form in {None, "markdown"}:
        print_text(to_markdown(compared, table_only=True), output)
    elif form:
        print_text(FORMATS[form](compared), output)
    else:
        tables = comparison_tables if arguments.all or output else brief_tables
        print_tables(tables(compared), output)


def _ties(arguments: argparse.Namespace) -> None:
    from mteb_ext.formats.walk import check_folders

    check_folders(*arguments.folders)
    from mteb_ext.analysis.ties import tie_ranges
    from mteb_ext.tables.ties import brief_ties_table, ties_table

    table = ties_table if arguments.all else brief_ties_table
    print_tables([table(tie_ranges(arguments.folders, arguments.tasks))])
