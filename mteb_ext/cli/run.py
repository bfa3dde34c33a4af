"""``mteb-ext run``: evaluate models that ``mteb run`` cannot load."""

from __future__ import annotations

import argparse
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mteb_ext.errors import MtebExtError

if TYPE_CHECKING:
    from mteb_ext.cli.parsing import Commands


def add_commands(commands: Commands) -> None:
    """Add the command to the parser."""
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
