"""``mteb-ext leak``: which test items a model may have seen in its training data."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mteb_ext.cli.output import print_line, print_tables
from mteb_ext.cli.parsing import add_command, add_task_options
from mteb_ext.errors import DataError

if TYPE_CHECKING:
    from mteb_ext.cli.parsing import Commands
    from mteb_ext.formats.leaks import Leaks
    from mteb_ext.leaks.counting import Seen
    from mteb_ext.leaks.items import TestSet


def add_commands(commands: Commands) -> None:
    """Add the command to the parser."""
    leak = add_command(
        commands,
        "leak",
        summary="look the test texts of tasks up in training data",
        details="Training data is read as a stream. Nothing is uploaded, and no text is shown "
        "without --show; docs/LEAKS.md says what counts.",
        examples=["corpus.jsonl -t WikiQA", "train.parquet -b TANDA-AS2 --results results"],
    )
    leak.add_argument(
        "training",
        type=Path,
        nargs="*",
        metavar="TRAINING",
        help="files and folders: .txt, .jsonl, .csv, .tsv (also .gz, .zst), .parquet, .arrow",
    )
    add_task_options(
        leak, "whose test texts are looked up", "those of all tasks of these benchmarks"
    )
    leak.add_argument(
        "--columns",
        nargs="+",
        default=[],
        metavar="NAME",
        help="the columns that are read; all with text if left out",
    )
    leak.add_argument("--model", metavar="NAME", help="whose training data it is, for the file")
    leak.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="write what was found there; the name ends in leaks.json",
    )
    leak.add_argument(
        "--results",
        type=Path,
        nargs="+",
        metavar="FOLDER",
        help="score the models whose predictions are there on seen and unseen items",
    )
    leak.add_argument("--show", action="store_true", help="quote texts that were seen")
    leak.add_argument(
        "--self",
        dest="own",
        action="store_true",
        help="look up the test texts of this package's tasks in its other splits",
    )
    leak.set_defaults(command=_leak)


def _leak(arguments: argparse.Namespace) -> None:
    if arguments.own:
        _leak_own(arguments)
        return
    from mteb_ext.formats.leaks import write_leaks
    from mteb_ext.leaks.counting import Lookup, Seen
    from mteb_ext.leaks.items import sets_of
    from mteb_ext.leaks.reading import training_files
    from mteb_ext.leaks.scores import scores_by_seen
    from mteb_ext.tables.leaks import leak_tables, scores_table, sightings_table

    files = training_files(arguments.training)
    names = _tasks(arguments)
    if not (files and names):
        raise DataError("say what to look up and where: TRAINING and -t TASK or -b BENCHMARK.")
    _check_output(arguments.output)
    sets = sets_of(names)
    lookup = Lookup(sets)
    seen = Seen(lookup)
    _read(seen, files, arguments.columns)
    leaks: Leaks = seen.leaks(arguments.model)
    tables = [*leak_tables(leaks)]
    if arguments.results:
        tables.append(scores_table(scores_by_seen(arguments.results, leaks)))
    if arguments.show:
        quotable = {found.task: _texts(found) for found in sets if found.quotable}
        tables.append(sightings_table(quotable, lookup.number, seen.sightings))
    print_tables(tables)
    if arguments.output:
        write_leaks(arguments.output, leaks)
        print_line(f"wrote {arguments.output}")


def _tasks(arguments: argparse.Namespace) -> list[str]:
    from mteb_ext.running.tasks import tasks_of_benchmarks

    return [*arguments.tasks, *tasks_of_benchmarks(arguments.benchmarks)]


def _check_output(path: Path | None) -> None:
    """See that the file will be found again.

    Raises:
        DataError: If its name is another.
    """
    from mteb_ext.formats.leaks import ENDING

    if path and not path.name.endswith(ENDING):
        raise DataError(f"{path}: let the name end in {ENDING}, by which it is found.")


def _texts(found: TestSet) -> list[str]:
    texts = (text for item in found.items for side in item.texts.values() for text in side)
    return list(dict.fromkeys(texts))


def _read(seen: Seen, files: Sequence[Path], columns: Sequence[str]) -> None:
    from tqdm import tqdm

    total = sum(file.stat().st_size for file in files)
    with tqdm(total=total, unit="B", unit_scale=True, disable=None) as bar:
        done = 0
        for file in files:
            bar.set_description(file.name)

            def advance(position: int, done: int = done) -> None:
                bar.update(max(0, done + position - bar.n))

            seen.read(file, columns, advance)
            done += file.stat().st_size


def _leak_own(arguments: argparse.Namespace) -> None:
    from mteb_ext.leaks.own import own_leaks
    from mteb_ext.tables.leaks import own_table

    if arguments.training or arguments.tasks or arguments.benchmarks:
        raise DataError("--self has its own data and tasks: leave TRAINING, -t and -b out.")
    print_tables([own_table(*own_leaks())], arguments.output)
