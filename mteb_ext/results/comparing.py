"""Tests of the difference of two models, from their prediction files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mteb_ext.bases import PaperRanking, PaperSTS, PaperTask
from mteb_ext.bases.predictions import read_predictions
from mteb_ext.bases.sts import COEFFICIENTS
from mteb_ext.bases.task import DEFAULT_SUBSET
from mteb_ext.errors import DataError
from mteb_ext.loading import paper_task
from mteb_ext.metrics import significance
from mteb_ext.metrics.ranking import average_precision

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray


def compare_two(task_name: str, first: Path, second: Path) -> pd.DataFrame:
    """Test the difference of two models on one task, from their prediction folders.

    STS: Williams' test of the two correlations with the gold scores, by subset. Ranking: the paired
    randomisation test of the questions' average precision. p-values are two-sided; with several
    subsets they are corrected by Holm's method.

    Args:
        task_name: The task.
        first: The first model's ``--prediction-folder``.
        second: The second model's.

    Returns:
        A row a subset and split: subset, split, model_a, model_b, value_a, value_b, statistic, p,
        p_holm.

    Raises:
        DataError: If a folder has no predictions of the task, or the two do not match its data.
    """
    import pandas as pd

    task = paper_task(task_name)()
    runs = [_predictions(task, folder) for folder in (first, second)]
    names = [run["mteb_model_meta"]["model_name"] for run in runs]
    task.load_data()
    frame = pd.DataFrame(
        [
            (subset, split, *names, a, b, *outcome)
            for subset in task.hf_subsets
            for split in task.eval_splits
            for a, b, outcome in [_compared(task, subset, split, runs)]
        ],
        columns=[
            *("subset", "split", "model_a", "model_b", "value_a", "value_b", "statistic", "p"),
        ],
    )
    frame["p_holm"] = significance.holm(frame["p"])
    return frame


def _predictions(task: PaperTask, folder: Path) -> Any:  # noqa: ANN401 - what mteb wrote there
    path = folder / task.prediction_file_name
    if not path.is_file():
        raise DataError(
            f"{path} does not exist. Write it with 'mteb run -m MODEL -t {task.metadata.name} "
            f"--prediction-folder {folder} --overwrite-strategy always', one folder a model."
        )
    return read_predictions(path)


def _compared(
    task: PaperTask, subset: str, split: str, runs: list[Any]
) -> tuple[float, float, significance.Outcome]:
    try:
        predicted = [run[subset][split] for run in runs]
    except KeyError as error:
        raise DataError(
            f"a prediction file of {task.metadata.name} has no scores of {subset}, {split}: "
            f"{error} is missing. Evaluate that model again."
        ) from error
    if isinstance(task, PaperSTS):
        return _compared_pairs(task, subset, split, predicted)
    if isinstance(task, PaperRanking):
        return _compared_questions(task, split, predicted)
    raise DataError(f"{task.metadata.name} is neither STS nor ranking.")


def _compared_pairs(
    task: PaperSTS, subset: str, split: str, predicted: list[Mapping[str, Any]]
) -> tuple[float, float, significance.Outcome]:
    rows: Any = task.dataset
    gold = np.asarray((rows[subset] if task.metadata.is_multilingual else rows)[split]["score"])
    first, second = (np.asarray(next(iter(scores.values()))) for scores in predicted)
    for scores in (first, second):
        if scores.shape != gold.shape:
            raise DataError(f"a prediction file holds {len(scores)} scores for {len(gold)} pairs")
    method = task.protocol.headline
    correlate = COEFFICIENTS[method]
    return (
        correlate(first, gold),
        correlate(second, gold),
        significance.compare_correlations(gold, first, second, method),
    )


def _compared_questions(
    task: PaperRanking, split: str, predicted: list[Mapping[str, Mapping[str, float]]]
) -> tuple[float, float, significance.Outcome]:
    qrels = {
        question: labels
        for question, labels in task.dataset[DEFAULT_SUBSET][split]["relevant_docs"].items()
        if task.protocol.keep.keeps(list(labels.values()))
    }
    first, second = (_average_precisions(scores, qrels) for scores in predicted)
    return (
        float(first.mean()),
        float(second.mean()),
        significance.paired_randomization_test(first, second),
    )


def _average_precisions(
    scores: Mapping[str, Mapping[str, float]], qrels: Mapping[str, Mapping[str, int]]
) -> NDArray[np.float64]:
    for question, labels in qrels.items():
        if set(labels) - set(scores.get(question, {})):
            raise DataError(f"a prediction file lacks candidates of question {question}")
    return average_precision(
        [scores[question][candidate] for question, labels in qrels.items() for candidate in labels],
        [label for labels in qrels.values() for label in labels.values()],
        np.cumsum([0, *map(len, qrels.values())]),
    )
