"""``mteb-ext score``: outputs of any system, scored by a task's protocol."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from mteb_ext.cli.output import print_error, print_line
from mteb_ext.cli.parsing import add_command
from mteb_ext.cli.results_line import print_results_line
from mteb_ext.errors import DataError

if TYPE_CHECKING:
    from mteb_ext.cli.parsing import Commands
    from mteb_ext.outputs.scoring import Scored


def add_commands(commands: Commands) -> None:
    """Add the command to the parser."""
    parser = add_command(
        commands,
        "score",
        summary="score the outputs of any system: a TREC run, one score a line, a table, ...",
        details="Outputs that were made elsewhere, by a task's protocol. No model is run. "
        "docs/OUTPUTS.md has the formats.",
        examples=[
            "my.run -t WikiQA --name my-org/my-system",
            "scores.txt -t JACSTS --name my-org/my-system --format scores",
        ],
    )
    parser.add_argument("files", type=Path, nargs="*", metavar="FILE", help="files of scores")
    parser.add_argument("-t", "--task", required=True, help="the task")
    parser.add_argument("--name", metavar="ORG/SYSTEM", help="whose outputs they are")
    parser.add_argument("--revision", help="their revision; of their sha256 if left out")
    parser.add_argument("--split", help="the task's own if left out")
    parser.add_argument(
        "--subset", nargs="+", default=[], help="of each file, where it does not say"
    )
    parser.add_argument("--format", help="found by the file's beginning if left out")
    parser.add_argument(
        "--ids",
        choices=("names", "positions"),
        default="names",
        help="the dataset's identifiers, or running numbers from 0 or 1",
    )
    parser.add_argument(
        "--missing",
        choices=("lowest",),
        help="put candidates without a score below all others, as for a run that was cut",
    )
    parser.add_argument(
        "--published",
        action="store_true",
        help="score the outputs that authors of published systems released",
    )
    parser.add_argument(
        "--output-folder", type=Path, default=Path("results"), help="where results go"
    )
    parser.set_defaults(command=_score)


def _score(arguments: argparse.Namespace) -> None:
    from mteb_ext.outputs.scoring import score_outputs, write

    if arguments.published:
        _score_published(arguments)
        return
    if not arguments.files or arguments.name is None:
        raise DataError("say what to score: FILE and --name ORG/SYSTEM, or --published.")
    scored = score_outputs(
        arguments.task,
        arguments.files,
        arguments.name,
        arguments.revision,
        arguments.split,
        arguments.subset,
        arguments.format,
        arguments.ids,
        fill=arguments.missing == "lowest",
    )
    write(scored, arguments.output_folder)
    _print(scored)
    print_results_line(arguments.output_folder, [arguments.task])


def _score_published(arguments: argparse.Namespace) -> None:
    from mteb_ext.outputs.released import score_released
    from mteb_ext.outputs.scoring import write

    if arguments.files or arguments.name:
        raise DataError("--published knows its files and names: leave FILE and --name out.")
    for scored in score_released(arguments.task):
        write(scored, arguments.output_folder)
        _print(scored)
    print_results_line(arguments.output_folder, [arguments.task])


def _print(scored: Scored) -> None:
    for remark in scored.remarks:
        print_error(remark)
    stamp = scored.stamp
    metric = str(scored.result.task.metadata.main_score)
    for split, entries in scored.result.scores.items():
        for entry in entries:
            subset = "" if entry["hf_subset"] == "default" else f" {entry['hf_subset']}"
            print_line(
                f"{stamp.model_name} {stamp.task} {split}{subset}: {metric} "
                f"{entry['main_score']:.6f} (revision {stamp.model_revision})"
            )
