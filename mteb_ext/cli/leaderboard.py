"""``mteb-ext leaderboard``: a static site of the results in folders."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from mteb_ext.cli.output import print_line
from mteb_ext.cli.parsing import add_command
from mteb_ext.errors import DataError
from mteb_ext.pages.site_folder import check_place, write_site

if TYPE_CHECKING:
    from mteb_ext.cli.parsing import Commands


def add_commands(commands: Commands) -> None:
    """Add the command to the parser."""
    leaderboard = add_command(
        commands,
        "leaderboard",
        summary="write a static site of the results in folders, verified",
        examples=["results -o site", "ours theirs -o site"],
    )
    leaderboard.add_argument(
        "folders",
        type=Path,
        nargs="+",
        metavar="FOLDER",
        help="what --output-folder and --prediction-folder were given, or folders above",
    )
    leaderboard.add_argument(
        "-o",
        "--output",
        type=Path,
        default=Path("site"),
        metavar="FOLDER",
        help="where the site goes",
    )
    leaderboard.set_defaults(command=_leaderboard)


def _leaderboard(arguments: argparse.Namespace) -> None:
    from mteb_ext.formats.walk import check_folders

    folders, output = arguments.folders, arguments.output
    check_folders(*folders)
    check_place(output, folders)
    import mteb_ext
    from mteb_ext.analysis import load_results
    from mteb_ext.analysis.folder import ResultsFolder
    from mteb_ext.pages.leaderboard import site_files
    from mteb_ext.pages.leaderboard.data import leaderboard
    from mteb_ext.verification.verifying import verify_results

    folder = ResultsFolder(*folders)
    results = load_results(folder)
    if results.empty:
        raise DataError(f"{folder.names}: no results here. Run some models first.")
    board = leaderboard(results, folder, verify_results(folder))
    write_site(output, site_files(board, mteb_ext.__version__))
    print_line(f"wrote {output / 'index.html'}")
