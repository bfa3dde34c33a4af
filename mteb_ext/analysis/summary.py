"""What a report shows of results: runs by name, headlines over models, and what is missing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

_CELL = ["task", "split", "subset", "metric"]


def label_runs(results: pd.DataFrame) -> pd.Series[str]:
    """Name the run of each row: by its model, plus whatever distinguishes the model's runs.

    Args:
        results: Rows with the columns model, revision, path, task, split, subset and metric.

    Returns:
        The model; with its revision where it has several; with the folder where one revision has
        several values of one thing.
    """
    several = results.groupby("model")["revision"].transform("nunique") > 1
    with_revision = results["model"] + ", revision " + results["revision"]
    labels = results["model"].where(~several, with_revision)
    values = results.groupby([labels.rename("run"), *_CELL])["path"].transform("nunique")
    repeated = values.groupby(labels).transform("max") > 1
    folders = results["path"].map(lambda path: str(Path(path).parent)).astype("str")
    return labels.where(~repeated, labels + " in " + folders).rename("run")


def headlines(results: pd.DataFrame) -> pd.DataFrame:
    """The headline rows of :func:`load_results`, with a column ``run`` before the others."""
    runs = label_runs(results)
    found = results[results["headline"]]
    found.insert(0, "run", runs[found.index])
    return found.reset_index(drop=True)


def over_models(headlines: pd.DataFrame) -> pd.DataFrame:
    """Headlines in the order of a comparison: scores of one kind together, the best one first.

    Args:
        headlines: From :func:`headlines`.

    Returns:
        The rows by task and split; other data, and a mean over fewer subsets, stand apart.
    """
    kinds = ["task", "split", "dataset_revision", "metric", "subsets"]
    return headlines.sort_values(
        [*kinds, "value", "run"], ascending=[*[True] * len(kinds), False, True], ignore_index=True
    )


def not_run(headlines: pd.DataFrame) -> dict[str, list[str]]:
    """The package's tasks of which a run has no result, for runs that have one of some.

    A task whose data was missing leaves no trace in a folder, and neither does one that failed.
    """
    from mteb_ext.plugin.discovery import own_tasks

    own = [task.metadata.name for task in own_tasks()]
    done = headlines.groupby("run")["task"].agg(set)
    missing = {run: [n for n in own if n not in names] for run, names in done.items()}
    return {run: names for run, names in missing.items() if 0 < len(names) < len(own)}
