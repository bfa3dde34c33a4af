"""The layout of a results folder: names, places and size limits of its files, stated once.

::

    results/MODEL/REVISION/model_meta.json        which model it is
    results/MODEL/REVISION/run_settings.jsonl     how mteb ran it, a line a split and subset
    results/MODEL/REVISION/TASK.json              the scores
    results/MODEL/REVISION/TASK.stamp             what made them
    results/MODEL/REVISION/experiments/OPTIONS/   the same, of a run with other options
    predictions/MODEL/REVISION/TASK_predictions.json
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

MODEL_META = "model_meta.json"
RUN_SETTINGS = "run_settings.jsonl"
PREDICTIONS = "_predictions.json"  # how the names of mteb's prediction files end
STAMP = ".stamp"  # not .json: mteb takes every JSON file there for a result
EXPERIMENTS = "experiments"

LARGEST = 100 << 20  # bytes; mteb's repository of results takes files of up to 10 MB
LARGEST_SMALL = 10 << 20  # of stamps and run settings
LARGEST_PREDICTIONS = 1 << 30


@dataclass(frozen=True)
class Place:
    """The model, revision and options whose folder a file is in.

    Attributes:
        model: The model's folder name.
        revision: The revision's.
        experiment: The folder name of other options; empty where there are none.
    """

    model: str
    revision: str
    experiment: str

    @classmethod
    def of(cls, path: Path) -> Place:
        """The place of a result, stamp or prediction file."""
        folder = path.absolute().parent
        experiment = folder.name if folder.parent.name == EXPERIMENTS else ""
        if experiment:
            folder = folder.parent.parent
        return cls(folder.parent.name, folder.name, experiment)

    def below(self, root: Path) -> Path:
        """The folder of this place below another root."""
        folder = root / self.model / self.revision
        return folder / EXPERIMENTS / self.experiment if self.experiment else folder


def stamp_of_predictions(path: Path) -> Path:
    """Where the stamp of a prediction file is, by the layout of ``mteb-ext run``."""
    task = path.name.removesuffix(PREDICTIONS)
    return _sibling(path, "results") / f"{task}{STAMP}"


def predictions_of_result(path: Path) -> Path:
    """Where the prediction file of a result is, by the layout of ``mteb-ext run``."""
    return _sibling(path, "predictions") / f"{path.stem}{PREDICTIONS}"


def output_folder_of(path: Path) -> Path | None:
    """What ``--output-folder`` was given for a result; None where its path does not say."""
    roots = (folder for folder in path.parents if folder.name == "results")
    return next((root.parent for root in roots), None)


def belongs_to_results(path: Path) -> bool:
    """Whether a file's name and place say that a run wrote it."""
    if path.name in {MODEL_META, RUN_SETTINGS} or path.name.endswith((PREDICTIONS, STAMP)):
        return True
    beside = (path.with_name(MODEL_META), path.with_suffix(STAMP))
    return path.suffix == ".json" and any(other.exists() for other in beside)


def _sibling(path: Path, name: str) -> Path:
    """The same place under a sibling root."""
    place, root = Place.of(path), path.absolute().parent.parent.parent
    if place.experiment:
        root = root.parent.parent
    return place.below(root.parent / name)
