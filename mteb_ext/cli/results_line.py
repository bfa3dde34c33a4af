"""The last line of commands that write results: where they are, and the command that shows them."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from pathlib import Path

from mteb_ext.cli.output import NAME, print_line


def print_results_line(folder: Path, tasks: Iterable[str], predictions: Path | None = None) -> None:
    """Print it: a comparison where there are two runs to compare, a report elsewhere.

    Args:
        folder: The output folder, as it was given.
        tasks: The tasks.
        predictions: The prediction folder, if one was given.
    """
    from mteb_ext.running.store import Store

    kept = Store(folder, predictions)
    folders = [folder]
    if any(_is_comparable(task) and kept.n_predicted(task) > 1 for task in dict.fromkeys(tasks)):
        command = "compare"
        if predictions and not predictions.absolute().is_relative_to(folder.absolute()):
            folders.append(predictions)
    else:
        command = "report"
    words = [NAME, command, *map(str, folders)]
    where = "this folder" if folder == Path() else folder
    print_line(f"Results are in {where}. Next: {shlex.join(words)}")


def _is_comparable(task: str) -> bool:
    from mteb_ext.analysis.gold import TYPES
    from mteb_ext.plugin.lookup import find_task

    return str(find_task(task).metadata.type) in TYPES
