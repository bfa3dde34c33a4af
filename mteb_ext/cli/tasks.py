"""``mteb-ext tasks`` and ``mteb-ext fetch``: the tasks, and their data."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mteb_ext.cli.output import print_tables

if TYPE_CHECKING:
    from mteb_ext.bases import PaperTask
    from mteb_ext.cli.parsing import Commands


def add_commands(commands: Commands) -> None:
    """Add the command to the parser."""
    tasks = commands.add_parser("tasks", help="list the tasks, their headline and their data")
    tasks.set_defaults(command=_list_tasks)

    fetch = commands.add_parser("fetch", help="fetch and verify the data of tasks")
    fetch.add_argument("tasks", nargs="*", metavar="TASK", help="task names; all if left out")
    fetch.set_defaults(command=_fetch)


def _list_tasks(_: argparse.Namespace) -> None:
    from rich.table import Table

    table = Table("task", "type", "headline", "languages", "splits", "data")
    for task in _paper_tasks():
        metadata = task.metadata
        table.add_row(
            metadata.name,
            str(metadata.type),
            metadata.main_score,
            " ".join(metadata.languages),
            " ".join(task.splits()),
            "public" if metadata.is_public else "on request",
        )
    print_tables(table)


def _fetch(arguments: argparse.Namespace) -> None:
    for task in _paper_tasks(arguments.tasks):
        for split in task.splits():
            _fetch_split(task, split, must=bool(arguments.tasks))


def _fetch_split(task: type[PaperTask], split: str, *, must: bool) -> None:
    from mteb_ext.data.sources import DataNotProvidedError

    name = task.metadata.name
    try:
        for subset in task.subsets(split):
            task.load(split, subset)
    except DataNotProvidedError as error:
        if must and split in task.metadata.eval_splits:
            raise
        print(f"{name} {split}: not here, and not to be fetched. {error}")
    else:
        print(f"{name} {split}: here and verified")


def _paper_tasks(names: Sequence[str] = ()) -> list[type[PaperTask]]:
    from mteb_ext.bases import PaperTask
    from mteb_ext.loading import paper_task
    from mteb_ext.plugins import own_tasks

    if names:
        return [paper_task(name) for name in names]
    return [task for task in own_tasks() if issubclass(task, PaperTask)]
