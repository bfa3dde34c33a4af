"""``mteb-ext report``: the results in folders."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from mteb_ext.cli.output import NAME, print_tables, print_text
from mteb_ext.cli.parsing import add_command
from mteb_ext.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

    from mteb_ext.analysis.folder import ResultsFolder
    from mteb_ext.cli.parsing import Commands


def add_commands(commands: Commands) -> None:
    """Add the command to the parser."""
    report = add_command(
        commands,
        "report",
        summary="print the results in folders, headline by task",
        examples=["results --published", "results -o report.html"],
    )
    report.add_argument(
        "folders",
        type=Path,
        nargs="*",
        metavar="FOLDER",
        help="what --output-folder was given; ./results if left out",
    )
    report.add_argument("--published", action="store_true", help="with published results beside")
    report.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="write an HTML page there"
    )
    report.add_argument(
        "--texts", action="store_true", help="with public texts in the page's charts"
    )
    report.set_defaults(command=_report)


def _report(arguments: argparse.Namespace) -> None:
    if arguments.output and arguments.output.suffix not in {".html", ".htm"}:
        raise DataError(f"{arguments.output}: the page is HTML; give it the ending .html.")
    from mteb_ext.formats.walk import check_folders

    folders = arguments.folders or [Path("results")]
    check_folders(*folders)
    from mteb_ext.analysis import load_results
    from mteb_ext.analysis.beside import published_standings
    from mteb_ext.analysis.folder import ResultsFolder
    from mteb_ext.analysis.seen import seen_in
    from mteb_ext.analysis.summary import headlines, not_run, over_models
    from mteb_ext.tables.leaks import seen_table
    from mteb_ext.tables.report import headline_tables, published_table

    folder = ResultsFolder(*folders)
    results = load_results(folder)
    if results.empty:
        raise DataError(
            f"{folder.names}: no results here. Run 'mteb run -m MODEL -t WikiQA "
            f"--output-folder {folders[0]}' first, or name another folder."
        )
    if arguments.output:
        _write_page(results, folder, arguments)
        return
    found = headlines(results)
    tables = [*headline_tables(over_models(found), not_run(found))]
    if seen := seen_in(folder):
        tables.append(seen_table(seen))
    if arguments.published:
        tables.append(published_table(published_standings(results)))
    print_tables(tables)


def _write_page(
    results: pd.DataFrame, folder: ResultsFolder, arguments: argparse.Namespace
) -> None:
    import mteb_ext
    from mteb_ext.pages.report import report_page
    from mteb_ext.pages.report.data import page_data

    words = [NAME, "report", *map(str, folder.folders), *(["--texts"] if arguments.texts else [])]
    command = shlex.join([*words, "-o", str(arguments.output)])
    data = page_data(results, folder, texts=arguments.texts)
    print_text(report_page(data, command, mteb_ext.__version__), arguments.output)
