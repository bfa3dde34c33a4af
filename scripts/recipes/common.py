"""What the three recipes share: their options, tiny models, and training with dev by our tasks.

Training is sentence-transformers' own; every score comes from ``mteb.evaluate`` on a task of this
package, by its paper's protocol.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import mteb
import torch
from datasets import Dataset
from transformers import EarlyStoppingCallback, set_seed
from transformers.trainer_utils import get_last_checkpoint

from mteb_ext.errors import MtebExtError

try:
    from sentence_transformers import (
        CrossEncoder,
        SentenceTransformer,
        SentenceTransformerTrainer,
        SentenceTransformerTrainingArguments,
    )
    from sentence_transformers.cross_encoder import (
        CrossEncoderTrainer,
        CrossEncoderTrainingArguments,
    )
    from sentence_transformers.evaluation import SentenceEvaluator
except ImportError as error:
    raise SystemExit(f"the recipes need sentence-transformers 4 or newer: {error}") from None
if not find_spec("accelerate"):
    raise SystemExit("the recipes need accelerate: pip install 'mteb-ext[train]'")

ELSEWHERE = {"output", "device"}  # options that change where, and not what, is trained
PATIENCE = 3  # evaluations on dev without a better one, and training stops
TINY = {"batch_size": 8, "max_length": 32, "learning_rate": 3e-3, "epochs": 8, "evaluations": 2}


def parser_of(doc: str, **defaults: Any) -> argparse.ArgumentParser:
    """The options that all recipes have.

    Args:
        doc: The recipe's docstring; its first line is shown.
        defaults: The paper's values, by option.
    """
    parser = argparse.ArgumentParser(
        description=doc.splitlines()[0], formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    parser.add_argument("--model", help="what training starts from: a folder or a hub's name")
    parser.add_argument("--layers", type=int, help="keep only the first layers of it")
    parser.add_argument("--output", type=Path, default=Path("runs"), help="folder of all runs")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--epochs", type=float)
    parser.add_argument(
        "--max-steps", type=int, default=-1, help="fewer steps than the epochs have"
    )
    parser.add_argument("--batch-size", type=int)
    parser.add_argument("--learning-rate", type=float)
    parser.add_argument("--max-length", type=int, help="tokens of a text or pair")
    parser.add_argument("--evaluations", type=int, default=10, help="on dev, in a training")
    parser.add_argument("--device", help="cpu or cuda; the best there is if left out")
    parser.add_argument("--tiny", action="store_true", help="a random model on the sample data")
    parser.set_defaults(**defaults)
    return parser


def parse(
    parser: argparse.ArgumentParser, arguments: Sequence[str] | None, **tiny: Any
) -> argparse.Namespace:
    """Read the command line; ``--tiny`` changes the defaults, and what is given still counts."""
    if parser.parse_args(arguments).tiny:
        parser.set_defaults(**TINY | tiny)
    return parser.parse_args(arguments)


def cross_encoder(start: str | Path | None, data: Dataset, options: argparse.Namespace) -> Any:
    """A cross-encoder with one output, which is used as it is: a sigmoid would make scores tie."""
    set_seed(options.seed)  # the head is random
    return CrossEncoder(
        str(start or _tiny_encoder(data, options)),
        num_labels=1,
        max_length=options.max_length,
        activation_fn=torch.nn.Identity(),
        device=options.device,
        config_kwargs=_config(options),
    )


def sentence_encoder(data: Dataset, options: argparse.Namespace) -> Any:
    """A sentence-transformers model."""
    set_seed(options.seed)
    encoder = SentenceTransformer(
        str(options.model or _tiny_encoder(data, options)),
        device=options.device,
        config_kwargs=_config(options),
    )
    encoder.max_seq_length = options.max_length
    return encoder


def _config(options: argparse.Namespace) -> dict[str, Any]:
    return {"num_hidden_layers": options.layers} if options.layers else {}


def _tiny_encoder(data: Dataset, options: argparse.Namespace) -> Path:
    """Write a random BERT of two layers over the words of the data."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    if not options.tiny:
        raise SystemExit("say which model to train: --model FOLDER_OR_NAME, or --tiny")
    tokenizer = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep")}
    columns = [data[name] for name in data.column_names if name not in {"label", "score"}]
    trainer = trainers.WordLevelTrainer(special_tokens=list(special.values()), vocab_size=2000)
    tokenizer.train_from_iterator((text for column in columns for text in column), trainer)
    cls, sep = ((token, tokenizer.token_to_id(token)) for token in ("[CLS]", "[SEP]"))
    tokenizer.post_processor = processors.BertProcessing(sep, cls)
    config = BertConfig(
        vocab_size=tokenizer.get_vocab_size(),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=64,
    )
    folder = options.output / f"tiny-seed{options.seed}"
    BertModel(config).save_pretrained(folder)
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special).save_pretrained(folder)
    return folder


class TaskEvaluator(SentenceEvaluator):
    """The main score of one of our tasks on its dev split, by the task's own protocol."""

    def __init__(self, task: str, batch_size: int) -> None:
        super().__init__()
        self.task, self.batch_size = task, batch_size

    def __call__(self, model: Any, *_: Any, **__: Any) -> dict[str, float]:
        """The score, under the name that training chooses by."""
        return {"dev": score(model, self.task, "dev", self.batch_size)}


def score(model: Any, task: str, split: str, batch_size: int) -> float:
    """A model's main score of a task, by ``mteb.evaluate``."""
    found = mteb.get_task(task, eval_splits=[split])
    how = {"batch_size": batch_size, "show_progress_bar": False}
    results = mteb.evaluate(model, found, cache=None, encode_kwargs=how, show_progress_bar=False)
    return float(results[0].get_score([split]))


def train(
    model: Any,
    data: Dataset,
    loss: torch.nn.Module,
    folder: Path,
    options: argparse.Namespace,
    evaluator: TaskEvaluator | None = None,
) -> None:
    """Train a model, from the folder's last checkpoint where there is one, and save it there.

    With an evaluator the model that is best on dev is kept, and training stops early.
    """
    is_pairs = isinstance(model, CrossEncoder)
    steps = math.ceil(len(data) / options.batch_size) * options.epochs
    steps = options.max_steps if options.max_steps > 0 else math.ceil(steps)
    interval = max(1, steps // options.evaluations)
    on_dev: dict[str, Any] = {
        "eval_strategy": "steps",
        "eval_steps": interval,
        "load_best_model_at_end": True,
        "metric_for_best_model": "eval_dev",
        "greater_is_better": True,
    }
    kind = CrossEncoderTrainingArguments if is_pairs else SentenceTransformerTrainingArguments
    arguments = kind(
        output_dir=str(folder),
        num_train_epochs=options.epochs,
        max_steps=options.max_steps,
        per_device_train_batch_size=options.batch_size,
        learning_rate=options.learning_rate,
        seed=options.seed,
        use_cpu=options.device == "cpu",
        save_strategy="steps",
        save_steps=interval,
        save_total_limit=2,
        logging_steps=interval,
        report_to="none",
        dataloader_pin_memory=torch.cuda.is_available(),
        **(on_dev if evaluator else {}),
    )
    trainer = (CrossEncoderTrainer if is_pairs else SentenceTransformerTrainer)(
        model=model,
        args=arguments,
        train_dataset=data,
        loss=loss,
        evaluator=evaluator,
        callbacks=[EarlyStoppingCallback(PATIENCE)] if evaluator else None,
    )
    last = get_last_checkpoint(str(folder)) if folder.is_dir() else None
    trainer.train(resume_from_checkpoint=last)
    model.save_pretrained(str(folder))
    trainer.save_state()


def is_finished(folder: Path, options: argparse.Namespace) -> bool:
    """Whether a run's model is there: the state of its training is written after it.

    Raises:
        SystemExit: If the run was begun with other options.
    """
    mine = {name: str(value) for name, value in vars(options).items() if name not in ELSEWHERE}
    note = folder / ".options.json"  # hidden: no part of the model's revision
    found = json.loads(note.read_text("utf-8")) if note.is_file() else mine
    if other := [f"{name} {found.get(name)}" for name in mine if found.get(name) != mine[name]]:
        raise SystemExit(
            f"{folder} was begun with {', '.join(other)}: delete it, or choose another --output"
        )
    folder.mkdir(parents=True, exist_ok=True)
    note.write_text(json.dumps(mine), encoding="utf-8")
    if finished := (folder / "trainer_state.json").is_file():
        print(f"{folder} is there; it is not trained again.")
    return finished


def run(main: Callable[[], object]) -> None:
    """Run a recipe; what is missing on the user's side is one sentence, and no traceback."""
    try:
        main()
    except MtebExtError as error:
        raise SystemExit(str(error)) from None
