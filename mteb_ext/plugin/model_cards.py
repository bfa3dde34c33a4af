"""Results in model cards: the ``model-index`` of the Hugging Face hub, by each task's protocol."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator
from math import fsum
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from huggingface_hub import EvalResult
    from mteb import ResultCache, TaskResult

logger = logging.getLogger(__name__)


def add_results(path: Path, model: str, cache: ResultCache, tasks: Collection[str]) -> None:
    """Add a model's results of tasks to its card.

    Args:
        path: The card. What it holds of other data stays.
        model: The model's name.
        cache: Where its results are.
        tasks: The tasks wanted.
    """
    from huggingface_hub import ModelCard

    ours = {}
    found = cache.load_results(models=[model], tasks=sorted(tasks), include_remote=False)
    for run in found.model_results:
        results = sorted(run.task_results, key=lambda result: result.task_name)
        if new := [entry for result in results for entry in card_results(result)]:
            ours[run.model_revision] = new
    if len(ours) > 1:
        logger.warning(
            "mteb_ext: %s holds results of several revisions of %s, %s, and a card is of one: none "
            "of these tasks' is in it. Name a folder with one revision.",
            cache.cache_path,
            model,
            ", ".join(sorted(map(str, ours))),
        )
    if len(ours) != 1:
        return
    (new,) = ours.values()
    card = ModelCard.load(path)
    replaced = set(map(_test_set, new))
    others = [r for r in card.data.eval_results or [] if _test_set(r) not in replaced]
    card.data.model_name = card.data.model_name or model
    card.data.eval_results = [*others, *new]
    card.save(path)


def card_results(result: TaskResult) -> Iterator[EvalResult]:
    """The main score of every subset, and the headline of a task of several.

    A dataset's ``config`` begins with the task's name, since several tasks may share its data, and
    a card has one entry a dataset, config, split and revision.
    """
    from huggingface_hub import EvalResult

    metadata = result.task.metadata
    for split, entries in result.scores.items():
        scores = {entry["hf_subset"]: entry["main_score"] for entry in entries}
        if len(result.task.hf_subsets) == 1:
            named = {metadata.name: (*scores.values(),)}
        else:
            named = {f"{metadata.name}, {subset}": (score,) for subset, score in scores.items()}
            if set(scores) == set(result.task.hf_subsets):
                named[metadata.name] = (*scores.values(),)
        for name, values in named.items():
            yield EvalResult(
                task_type=metadata.type,
                task_name=metadata.name,
                dataset_type=metadata.dataset["path"],
                dataset_name=name,
                dataset_config=name,
                dataset_split=split,
                dataset_revision=result.dataset_revision,
                metric_type=metadata.main_score,
                metric_name="mean " * (len(values) > 1) + metadata.main_score,
                metric_value=fsum(values) / len(values),
            )


def _test_set(result: EvalResult) -> tuple[str | None, ...]:
    return (result.dataset_type, result.dataset_config, result.dataset_split)
