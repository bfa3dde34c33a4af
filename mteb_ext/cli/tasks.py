"""``mteb-ext tasks`` and ``mteb-ext fetch``: the tasks, and their data."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mteb_ext.cli.output import print_line, print_tables
from mteb_ext.cli.parsing import add_command
from mteb_ext.errors import MtebExtError

if TYPE_CHECKING:
    from mteb.abstasks import AbsTask

    from mteb_ext.bases import PaperTask
    from mteb_ext.cli.parsing import Commands


def add_commands(commands: Commands) -> None:
    """Add the commands to the parser."""
    tasks = add_command(
        commands,
        "tasks",
        summary="list the tasks, their headline and their data",
        examples=["", "| grep Pearson"],
    )
    tasks.set_defaults(command=_list_tasks)

    fetch = add_command(
        commands,
        "fetch",
        summary="fetch the data of tasks, and check it",
        examples=["", "JACSTS WikiQA"],
    )
    fetch.add_argument("tasks", nargs="*", metavar="TASK", help="task names; all if left out")
    fetch.set_defaults(command=_fetch)


def _list_tasks(_: argparse.Namespace) -> None:
    from mteb_ext.bases import PaperTask
    from mteb_ext.environment import DISABLE, is_set
    from mteb_ext.plugin.discovery import own_tasks, plugin_tasks
    from mteb_ext.tables.table import Table

    if is_set(DISABLE):
        raise MtebExtError(f"{DISABLE} is set, which turns all of these tasks off: unset it.")

    rows = [
        (
            task.metadata.name,
            str(task.metadata.type),
            task.metadata.main_score,
            " ".join(task.metadata.languages),
            " ".join(task.splits() if issubclass(task, PaperTask) else task.metadata.eval_splits),
            "public" if task.metadata.is_public else "on request",
        )
        for task in (*own_tasks(), *plugin_tasks())
        if _is_registered(task)
    ]
    columns = ("task", "type", "headline", "languages", "splits", "data")
    print_tables([Table("", columns, rows)])


def _is_registered(task: type[AbsTask]) -> bool:
    """Whether mteb knows it: its name may be another task's."""
    import mteb

    return type(mteb.get_task(task.metadata.name)) is task


def _fetch(arguments: argparse.Namespace) -> None:
    for task in _paper_tasks(arguments.tasks):
        for split in task.splits():
            _fetch_split(task, split, must=bool(arguments.tasks))


def _fetch_split(task: type[PaperTask], split: str, *, must: bool) -> None:
    from mteb_ext.data.sources import DataNotProvidedError

    name = task.metadata.name
    before = _files_here()
    try:
        loaded = [task.load(split, subset) for subset in task.subsets(split)]
    except DataNotProvidedError as error:
        if must and split in task.metadata.eval_splits:
            raise
        print_line(f"{name} {split}: not here, and not to be fetched. {error}")
        return
    fetched = [size for path, size in _files_here().items() if path not in before]
    how = f"fetched {len(fetched)} files, {sum(fetched):,} bytes" if fetched else "here"
    rows = _counted(task, split, [content for content, _ in loaded])
    print_line(f"{name} {split}: {how}; {rows}; {_checked(task, {r for _, r in loaded})}")


def _files_here() -> dict[str, int]:
    """The public files in the data folder, with their sizes in bytes."""
    from mteb_ext.data.sources import data_folder, registry

    paths = {key: data_folder() / key for key in registry()}
    return {key: path.stat().st_size for key, path in paths.items() if path.is_file()}


def _counted(task: type[PaperTask], split: str, contents: list[Any]) -> str:
    """How many rows count by the protocol, and how many the files hold where these are more."""
    from mteb_ext.protocol import RankingProtocol

    if not isinstance(task.protocol, RankingProtocol):
        return f"{sum(map(len, contents)):,} pairs"
    keep = task.protocol.keep_in(split)
    questions = [question for content in contents for question in content]
    kept = [question for question in questions if keep.keeps(question.labels)]
    shown = f"{len(kept):,} questions, {sum(map(len, kept)):,} candidates"
    if len(kept) == len(questions):
        return shown
    return f"{shown} (of {len(questions):,} and {sum(map(len, questions)):,} in the files)"


def _checked(task: type[PaperTask], revisions: set[str]) -> str:
    from mteb_ext.data.sources import SampleFiles

    if isinstance(task.source, SampleFiles):
        return "made-up rows, nothing to verify"
    if other := revisions - {task.metadata.revision}:
        return f"NOT the paper's edition, results carry the revision {', '.join(sorted(other))}"
    return "verified"


def _paper_tasks(names: Sequence[str] = ()) -> list[type[PaperTask]]:
    from mteb_ext.bases import PaperTask
    from mteb_ext.plugin.discovery import own_tasks
    from mteb_ext.plugin.lookup import paper_task

    if names:
        return [paper_task(name) for name in names]
    return [task for task in own_tasks() if issubclass(task, PaperTask)]
