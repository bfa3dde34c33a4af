"""The ``mteb-ext`` command: what ``mteb`` itself has no command for.

Evaluating is mteb's own job: ``mteb run -m MODEL -t WikiQA``.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mteb_ext.errors import MtebExtError

if TYPE_CHECKING:
    from rich.table import Table

    from mteb_ext.bases import PaperTask


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        arguments: The arguments; those of the process where left out.

    Returns:
        The exit status: 0, or 1 after an error, which is then on standard error.
    """
    parsed = _parser().parse_args(arguments)
    try:
        parsed.command(parsed)
    except MtebExtError as error:
        print(f"mteb-ext: {error}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="mteb-ext", description="Companion of mteb for the tasks of mteb_ext."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    tasks = commands.add_parser("tasks", help="list the tasks, their headline and their data")
    tasks.set_defaults(command=_list_tasks)

    fetch = commands.add_parser("fetch", help="fetch and verify the data of tasks")
    fetch.add_argument("tasks", nargs="*", metavar="TASK", help="task names; all if left out")
    fetch.set_defaults(command=_fetch)

    run = commands.add_parser(
        "run", help="evaluate a model in a local folder, which 'mteb run' cannot load"
    )
    run.add_argument(
        "-m", "--model", required=True, type=Path, help="a sentence-transformers folder"
    )
    run.add_argument("-t", "--tasks", nargs="+", required=True, metavar="TASK")
    run.add_argument("--cross-encoder", action="store_true", help="the folder is a cross-encoder's")
    run.add_argument("--eval-splits", nargs="+", metavar="SPLIT")
    run.add_argument("--batch-size", type=int, default=32)
    run.add_argument("--output-folder", type=Path, default=Path("results"))
    run.add_argument("--prediction-folder", type=Path, help="write scores by pair, for 'compare'")
    run.set_defaults(command=_run)

    report = commands.add_parser("report", help="print the results in a folder, headline by task")
    report.add_argument("folder", type=Path, nargs="?", default=Path("results"))
    report.add_argument("--published", action="store_true", help="with published results beside")
    report.set_defaults(command=_report)

    compare = commands.add_parser("compare", help="test two models' difference on one task")
    compare.add_argument("task", metavar="TASK")
    compare.add_argument("first", type=Path, help="prediction folder of the first model")
    compare.add_argument("second", type=Path, help="prediction folder of the second model")
    compare.set_defaults(command=_compare)
    return parser


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
    _print(table)


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


def _run(arguments: argparse.Namespace) -> None:
    import mteb
    from mteb.cache import ResultCache

    if not arguments.model.is_dir():
        raise MtebExtError(
            f"{arguments.model} is not a folder. For a model by its hub name: "
            f"mteb run -m {arguments.model} -t {' '.join(arguments.tasks)}"
        )
    mteb.evaluate(
        _local_model(arguments.model, is_cross_encoder=arguments.cross_encoder),
        mteb.get_tasks(tasks=arguments.tasks, eval_splits=arguments.eval_splits),
        cache=ResultCache(arguments.output_folder),
        encode_kwargs={"batch_size": arguments.batch_size},
        prediction_folder=arguments.prediction_folder,
    )


def _local_model(folder: Path, *, is_cross_encoder: bool) -> Any:  # noqa: ANN401 - either wrapper
    """Load a model under a name and revision of its own.

    mteb names every local model alike, and would take one's cached results for another's. The
    revision is a digest of the files, so that a model trained further is a new one.
    """
    from mteb.models import CrossEncoderWrapper, SentenceTransformerEncoderWrapper
    from sentence_transformers import CrossEncoder, SentenceTransformer

    digest = hashlib.sha256()
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        with file.open("rb") as content:
            digest.update(str(file.relative_to(folder)).encode())
            digest.update(hashlib.file_digest(content, "sha256").digest())
    model = (
        CrossEncoderWrapper(CrossEncoder(str(folder)))
        if is_cross_encoder
        else SentenceTransformerEncoderWrapper(SentenceTransformer(str(folder)))
    )
    identity = {"name": f"local/{folder.resolve().name}", "revision": digest.hexdigest()[:16]}
    model.mteb_model_meta = model.mteb_model_meta.model_copy(update=identity)
    return model


def _report(arguments: argparse.Namespace) -> None:
    from mteb_ext.report import published_tables, results_tables

    _print(*results_tables(arguments.folder))
    if arguments.published:
        _print(*published_tables(arguments.folder))


def _compare(arguments: argparse.Namespace) -> None:
    from mteb_ext.report import comparison_table

    _print(comparison_table(arguments.task, arguments.first, arguments.second))


def _paper_tasks(names: Sequence[str] = ()) -> list[type[PaperTask]]:
    import mteb

    from mteb_ext.bases import PaperTask
    from mteb_ext.plugins import own_tasks

    if not names:
        return [task for task in own_tasks() if issubclass(task, PaperTask)]
    tasks = []
    for name in names:
        try:
            task = type(mteb.get_task(name))
        except KeyError as error:
            raise MtebExtError(error.args[0]) from error
        if not issubclass(task, PaperTask):
            raise MtebExtError(f"{name} is not a task of mteb_ext; see 'mteb-ext tasks'.")
        tasks.append(task)
    return tasks


def _print(*tables: Table) -> None:
    from rich.console import Console

    console = Console()
    for table in tables:
        console.print(table)
