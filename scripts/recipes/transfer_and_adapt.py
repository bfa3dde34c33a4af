"""TANDA (arXiv 1911.04118): fine-tune on a large ranking corpus, then on the target's questions.

Stage one (transfer) is shared by all runs of a seed; stage two (adapt) may have wrong labels mixed
in. ``--skip-transfer`` is the baseline: the target's questions alone. The defaults are those of the
authors' script (github.com/amazon-science/wqa_tanda). In both stages the target's dev MAP, by the
task itself, chooses the model.

    python scripts/recipes/transfer_and_adapt.py --model roberta-base --source ASNQ --seed 1
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from common import TINY, TaskEvaluator, cross_encoder, is_finished, parse, parser_of, run, train
from datasets import Dataset
from sentence_transformers.cross_encoder.losses import BinaryCrossEntropyLoss

import mteb_ext

TRANSFER_RATE, ADAPT_RATE = 2e-5, 1e-6


def main(arguments: Sequence[str] | None = None) -> Path:
    """Train, and say how to evaluate; the model's folder is returned."""
    parser = parser_of(__doc__, epochs=2, batch_size=150, max_length=128)
    parser.add_argument("--source", default="ASNQ", help="of stage one: ASNQ or a ranking task")
    parser.add_argument("--target", default="WikiQA", help="the ranking task of stage two")
    parser.add_argument("--skip-transfer", action="store_true", help="the baseline: no stage one")
    parser.add_argument("--label-noise", type=float, default=0.0, help="share, in stage two")
    parser.add_argument("--transfer-rate", type=float, default=TRANSFER_RATE)
    parser.add_argument("--transfer-steps", type=int, default=-1, help="--max-steps of stage one")
    options = parse(
        parser,
        arguments,
        source="TRECQA.sample",
        target="WikiQA.sample",
        transfer_rate=TINY["learning_rate"],
    )
    if options.learning_rate is None:  # a model that has seen no question needs the larger one
        options.learning_rate = TRANSFER_RATE if options.skip_transfer else ADAPT_RATE
    start = options.model
    if not options.skip_transfer:
        start = options.output / f"transferred-{options.source}-seed{options.seed}"
        its_own = {
            "learning_rate": options.transfer_rate,
            "max_steps": options.transfer_steps,
            "label_noise": 0.0,
        }
        stage_one = argparse.Namespace(**vars(options) | its_own)
        fit(options.model, load(options.source), start, stage_one)
    name = "baseline" if options.skip_transfer else f"adapted-{options.source}"
    name += f"-{options.target}-noise{options.label_noise * 100:g}"
    data = load(options.target, label_noise=options.label_noise, seed=options.seed)
    folder = options.output / f"{name}-seed{options.seed}"
    fit(start, data, folder, options)
    print(f"mteb-ext run -m {folder} --name recipes/{name} -t {options.target} \\")
    print("    --eval-splits dev test")
    return folder


def load(task: str, **noise: float) -> Dataset:
    """A train split as the loss takes it."""
    data = mteb_ext.load_dataset(task, "train", **noise)
    return data.select_columns(["question", "candidate", "label"])


def fit(start: str | Path | None, data: Dataset, folder: Path, options: argparse.Namespace) -> None:
    """Train one stage, unless it is there."""
    if is_finished(folder, options):
        return
    model = cross_encoder(start, data, options)
    evaluator = TaskEvaluator(options.target, options.batch_size)
    train(model, data, BinaryCrossEntropyLoss(model), folder, options, evaluator)


if __name__ == "__main__":
    run(main)
