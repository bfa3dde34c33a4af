"""The sentence-pair regressor of arXiv 1907.12679: a translation's human score from the pair.

A cross-encoder with one linear output is trained with the squared error on the Direct Assessments
of WMT15 and WMT16, and evaluated on WMT17: on reference and translation, as the paper, or on source
and translation with ``--target WMT17MetricsQE``. Dev is a tenth of the training data.

    python scripts/recipes/pair_regressor.py --model bert-base-uncased --seed 1
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from common import TaskEvaluator, cross_encoder, is_finished, parse, parser_of, run, train
from sentence_transformers.cross_encoder.losses import MSELoss

import mteb_ext


def main(arguments: Sequence[str] | None = None) -> Path:
    """Train, and say how to evaluate; the model's folder is returned."""
    parser = parser_of(__doc__, epochs=3, batch_size=16, max_length=128, learning_rate=2e-5)
    parser.add_argument("--target", default="WMT17Metrics", help="or WMT17MetricsQE")
    options = parse(parser, arguments, target="WMT17Metrics.sample")
    data = mteb_ext.load_dataset(options.target, "train")
    data = data.select_columns(["sentence1", "sentence2", "score"])
    name = f"regressor-{options.target}"
    folder = options.output / f"{name}-seed{options.seed}"
    if not is_finished(folder, options):
        model = cross_encoder(options.model, data, options)
        evaluator = TaskEvaluator(options.target, options.batch_size)
        train(model, data, MSELoss(model), folder, options, evaluator)
    print(f"mteb-ext run -m {folder} --name recipes/{name} -t {options.target}")
    return folder


if __name__ == "__main__":
    run(main)
