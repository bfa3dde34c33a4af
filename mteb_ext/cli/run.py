"""``mteb-ext run``: evaluate models by name or from folders."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mteb_ext.errors import ModelError
from mteb_ext.running.folders import KINDS

if TYPE_CHECKING:
    from mteb_ext.cli.parsing import Commands


def add_commands(commands: Commands) -> None:
    """Add the command to the parser."""
    run = commands.add_parser("run", help="evaluate a model, by name or from a folder")
    run.add_argument("-m", "--model", required=True, help="a folder, or a name that mteb knows")
    run.add_argument("-t", "--tasks", nargs="+", required=True, metavar="TASK")
    run.add_argument("--eval-splits", nargs="+", metavar="SPLIT")
    run.add_argument("--batch-size", type=int, default=32)
    run.add_argument("--output-folder", type=Path, default=Path("results"))
    run.add_argument("--prediction-folder", type=Path, help="write scores by pair, for 'compare'")
    _add_model_options(run)
    run.set_defaults(command=_run)


def _add_model_options(run: argparse.ArgumentParser) -> None:
    kind = run.add_mutually_exclusive_group()
    kind.add_argument("--kind", choices=KINDS, help="what a folder is run as, where it may be two")
    kind.add_argument(
        "--cross-encoder",
        dest="kind",
        action="store_const",
        const="cross-encoder",
        help="short for --kind cross-encoder",
    )
    run.add_argument("--name", help="name of a folder's results; made from its path if left out")
    run.add_argument("--model-revision", metavar="REVISION")
    run.add_argument("--device", help="for example cpu or cuda:1")
    run.add_argument(
        "--trust-remote-code", action="store_true", help="run code that comes with the model"
    )
    run.add_argument(
        "--model-kwargs",
        type=_json_object,
        default={},
        metavar="JSON",
        help='further arguments of the model\'s class, as {"truncate_dim": 256}',
    )
    run.add_argument(
        "--prompt",
        nargs="+",
        action="extend",
        type=_assignment,
        default=[],
        metavar="KEY=TEXT",
        help="text before queries or documents: query=…, document=…",
    )


def _json_object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text} is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError(f"{text} is not a JSON object")
    return value


def _assignment(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not (key and equals):
        raise argparse.ArgumentTypeError(f"{text} is not KEY=TEXT")
    return key, value


def _run(arguments: argparse.Namespace) -> None:
    import mteb
    from mteb.cache import ResultCache

    from mteb_ext.running.models import load_model
    from mteb_ext.running.tasks import task_of_run

    tasks = [task_of_run(name, arguments.eval_splits) for name in arguments.tasks]
    model = load_model(
        arguments.model,
        kind=arguments.kind,
        name=arguments.name,
        revision=arguments.model_revision,
        device=arguments.device,
        trust_remote_code=arguments.trust_remote_code,
        model_kwargs=arguments.model_kwargs,
        prompts=dict(arguments.prompt),
    )
    try:
        cache = ResultCache(arguments.output_folder)
    except OSError as error:
        raise ModelError(
            f"{arguments.output_folder} cannot be written: {error.strerror}."
        ) from error
    mteb.evaluate(
        model,
        tasks,
        cache=cache,
        encode_kwargs={"batch_size": arguments.batch_size},
        prediction_folder=arguments.prediction_folder,
    )
