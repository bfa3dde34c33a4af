"""``mteb-ext verify``: whether results are what they say."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from mteb_ext.cli.output import print_tables, print_text
from mteb_ext.cli.parsing import add_command
from mteb_ext.errors import DataError

if TYPE_CHECKING:
    from mteb_ext.cli.parsing import Commands


def add_commands(commands: Commands) -> None:
    """Add the command to the parser."""
    verify = add_command(
        commands,
        "verify",
        summary="compute the scores in folders again from the kept predictions, and check the rest",
        details="No model is run. The exit status is 1 if there is an error; docs/VERIFY.md "
        "explains every finding.",
        examples=["results", "results --against main/results --json"],
    )
    verify.add_argument(
        "folders",
        type=Path,
        nargs="+",
        metavar="FOLDER",
        help="what --output-folder was given, and --prediction-folder if it is elsewhere",
    )
    verify.add_argument(
        "--against",
        type=Path,
        metavar="FOLDER",
        help="what was there before: nothing may be removed, no main score change",
    )
    verify.add_argument("--json", action="store_true", help="print JSON")
    verify.set_defaults(command=_verify)


def _verify(arguments: argparse.Namespace) -> None:
    from mteb_ext.formats.walk import check_folders

    check_folders(*arguments.folders)
    from mteb_ext.tables.verify import verify_json, verify_tables
    from mteb_ext.verification.verifying import verify_results

    report = verify_results(arguments.folders, against=arguments.against)
    if not (report.findings or report.verdicts):
        where = ", ".join(map(str, arguments.folders))
        raise DataError(f"{where}: no results here. Name what --output-folder was given.")
    if arguments.json:
        print_text(verify_json(report), None)
    else:
        print_tables(verify_tables(report))
    if report.failed:
        files = {finding.file for finding in report.findings if finding.level == "error"}
        raise DataError(f"{len(files)} files have errors.")
