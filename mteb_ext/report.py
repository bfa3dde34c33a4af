"""Tables of results: headlines, published numbers beside them, tests between two models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from mteb.cache import ResultCache
from mteb.results import TaskResult
from rich.table import Table

from mteb_ext.bases import PaperRanking, PaperSTS, PaperTask
from mteb_ext.bases.predictions import read_predictions
from mteb_ext.bases.sts import COEFFICIENTS
from mteb_ext.bases.task import DEFAULT_SUBSET
from mteb_ext.errors import DataError
from mteb_ext.metrics import significance
from mteb_ext.metrics.ranking import average_precision
from mteb_ext.published import TASKS, compare_published

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Which of our result keys follow which published variant, by the metric's name there.
_SUBSET_VARIANTS = {
    "WikiQA": {
        "clean-243": {"map": "map", "mrr": "mrr"},
        "both-237": {"map": "map_both_trec_eval", "mrr": "mrr_both_trec_eval"},
    },
    "TRECQA": {"clean-68": {"map": "map", "mrr": "mrr"}},
    "STSBenchmarkSemEval": {"official-split": {"pearson": "pearson"}},
    "STS17SemEvalTurkish": {"per-track": {"pearson": "pearson"}},
    "STS17SemEval": {"per-track": {"pearson": "pearson"}},
    "WMT17Metrics": {"per-pair": {"pearson": "pearson"}},
}
_WHOLE = frozenset({"task", "subset", "metric", "score", "better", "p", "p (Holm)", "statistic"})
_HEADLINE_VARIANTS = {"STS17SemEval": "mean-of-6", "WMT17Metrics": "mean-of-7-pairs"}


def results_tables(folder: Path) -> Iterator[Table]:
    """The headline of every result in a folder, with its interval and the data it is on.

    Args:
        folder: What ``mteb run --output-folder`` was given.

    Yields:
        A table a model.

    Raises:
        DataError: If there is no result of this package's tasks in it.
    """
    for model, results in _paper_results(folder).items():
        table = _table(model, "task", "split", "metric", "score", "95% interval", "data")
        for result, task in results:
            for split, scores in result.scores.items():
                low, high = _headline_interval(scores)
                table.add_row(
                    result.task_name,
                    split,
                    _metric_name(task, len(scores)),
                    f"{result.get_score(splits=[split]):.4f}",
                    "" if low is None else f"{low:.3f} to {high:.3f}",
                    _data_kind(result, task),
                )
        yield table


def published_tables(folder: Path) -> Iterator[Table]:
    """Every result beside the best published number of the same protocol variant.

    Yields:
        A table a model, for those that have a result on a paper's own data.

    Raises:
        DataError: If there is no result of this package's tasks in the folder.
    """
    for model, results in _paper_results(folder).items():
        table = _table(
            model, "task", "subset", "metric", "variant", "score", "best published", "better"
        )
        for result, task in results:
            if result.task_name in TASKS and _data_kind(result, task) == "paper's":
                for variant, scores in published_scores(result):
                    _add_published(table, result.task_name, variant, scores)
        if table.row_count:
            yield table


def _add_published(
    table: Table, task: str, variant: str, scores: Mapping[tuple[str, str], float]
) -> None:
    frame = compare_published(task, scores, variant=variant)
    for (subset, metric), value in scores.items():
        rows = frame[(frame["subset"] == subset) & (frame["metric"] == metric) & ~frame["ours"]]
        if rows.empty:
            continue
        best = rows.loc[rows["value"].idxmax()]
        table.add_row(
            task,
            subset or "mean",
            metric,
            variant,
            f"{value:.4f}",
            f"{best['value']:.4f} {best['system']}",
            f"{int((rows['value'] > value).sum())} of {len(rows)}",
        )


def published_scores(
    result: TaskResult,
) -> Iterator[tuple[str, dict[tuple[str, str], float]]]:
    """The scores of a result that follow a published variant.

    Yields:
        The variant, and the scores by subset (empty for the mean over subsets) and metric.
    """
    by_subset = {scores["hf_subset"]: scores for scores in result.scores.get("test", [])}
    for variant, keys in _SUBSET_VARIANTS.get(result.task_name, {}).items():
        yield (
            variant,
            {
                (subset, metric): scores[key]
                for subset, scores in by_subset.items()
                for metric, key in keys.items()
            },
        )
    complete = len(by_subset) == len(result.task.metadata.hf_subsets)
    if complete and result.task_name in _HEADLINE_VARIANTS:
        metric = result.task.metadata.main_score
        yield _HEADLINE_VARIANTS[result.task_name], {("", metric): result.get_score(["test"])}


def comparison_table(task_name: str, first: Path, second: Path) -> Table:
    """Test the difference of two models on one task, from their prediction folders.

    STS: Williams' test of the two correlations with the gold scores, by subset. Ranking: the paired
    randomisation test of the questions' average precision. p-values are two-sided; with several
    subsets they are corrected by Holm's method.

    Args:
        task_name: The task.
        first: The first model's ``--prediction-folder``.
        second: The second model's.

    Raises:
        DataError: If a folder has no predictions of the task, or the two do not match its data.
    """
    import mteb

    task = mteb.get_task(task_name)
    if not isinstance(task, PaperTask):
        raise DataError(f"{task_name} is not a task of mteb_ext; see 'mteb-ext tasks'.")
    runs = [_predictions(task, folder) for folder in (first, second)]
    names = [run["mteb_model_meta"]["model_name"] for run in runs]
    task.load_data()
    rows = [
        (subset, split, *_compared(task, subset, split, runs))
        for subset in task.hf_subsets
        for split in task.eval_splits
    ]
    adjusted = significance.holm([row[-1].p_value for row in rows])
    table = _table(task_name, "subset", "split", *map(str, names), "statistic", "p", "p (Holm)")
    for (subset, split, a, b, outcome), p in zip(rows, adjusted, strict=True):
        table.add_row(
            subset,
            split,
            f"{a:.4f}",
            f"{b:.4f}",
            f"{outcome.statistic:.3f}",
            f"{outcome.p_value:.4f}",
            f"{p:.4f}",
        )
    return table


def _table(title: str, *columns: str) -> Table:
    """A table whose names are never cut: they would not be names any more."""
    table = Table(title=title, title_justify="left")
    for column in columns:
        table.add_column(column, overflow="fold", no_wrap=column in _WHOLE)
    return table


def _paper_results(folder: Path) -> dict[str, list[tuple[TaskResult, PaperTask]]]:
    """The results of this package's tasks, by model, both in the order of their names."""
    found: dict[str, list[tuple[TaskResult, PaperTask]]] = {}
    results = ResultCache(folder).load_results(include_remote=False, require_model_meta=False)
    for model in sorted(
        results.model_results, key=lambda m: (str(m.model_name), str(m.model_revision))
    ):
        for result in sorted(model.task_results, key=lambda result: result.task_name):
            try:
                task = result.task
            except KeyError:
                continue  # a task of a plugin that is not installed here
            if isinstance(task, PaperTask):
                name = f"{model.model_name}, revision {model.model_revision}"
                found.setdefault(name, []).append((result, task))
    if not found:
        raise DataError(
            f"{folder} holds no results of mteb_ext's tasks. Run 'mteb run -m MODEL -t WikiQA "
            f"--output-folder {folder}' first, or name another folder."
        )
    return found


def _metric_name(task: PaperTask, n_subsets: int) -> str:
    n_all = len(task.metadata.hf_subsets)
    if n_subsets < n_all:  # a run that is not over, or was asked for some languages only
        return f"mean {task.metadata.main_score} of {n_subsets} of {n_all} subsets"
    return f"mean {task.metadata.main_score}" if n_all > 1 else task.metadata.main_score


def _headline_interval(scores: list[Any]) -> tuple[float, float] | tuple[None, None]:
    names = ("headline_ci95_low", "headline_ci95_high")
    if len(scores) == 1:
        names = ("ci95_low", "ci95_high")
    for subset in scores:
        if names[0] in subset:
            return subset[names[0]], subset[names[1]]
    return None, None


def _data_kind(result: TaskResult, task: PaperTask) -> str:
    if result.dataset_revision == "sample":
        return "sample"
    return "paper's" if result.dataset_revision == task.metadata.revision else "another edition"


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
