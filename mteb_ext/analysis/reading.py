"""mteb's result files as one table: :func:`load_results`."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from mteb_ext import json_files
from mteb_ext.analysis.editions import PAPERS, edition, known_task, measure_in, pairs_in, subsets_of
from mteb_ext.analysis.folder import ResultsFolder
from mteb_ext.errors import DataError, MtebExtError
from mteb_ext.formats.layout import LARGEST
from mteb_ext.formats.result import is_result
from mteb_ext.json_files import brief, storable
from mteb_ext.measures import Measure

if TYPE_CHECKING:
    import pandas as pd
    from mteb.abstasks import AbsTask

logger = logging.getLogger(__name__)

COLUMNS: Mapping[str, str] = {
    "model": "str",
    "revision": "str",
    "task": "str",
    "split": "str",
    "subset": "str",
    "metric": "str",
    "value": "float64",
    "low": "float64",
    "high": "float64",
    "n": "Int64",
    "headline": "bool",
    "subsets": "Int64",
    "all_subsets": "Int64",
    "dataset_revision": "str",
    "edition": "str",
    "mteb_version": "str",
    "path": "str",
}
"""The columns of :func:`load_results`, with their pandas types."""

MAIN_SCORE = "main_score"  # the metric of a headline whose task is not known here
_NOT_METRICS = ("ci95_", "headline_ci95_", "num_queries")


def load_results(*folders: str | Path | ResultsFolder) -> pd.DataFrame:
    """Load the result files of any number of folders, of mteb's own tasks too.

    A file that is damaged, or is none of mteb's, is named by a logged warning and left out, and so
    is a folder that cannot be read. Results of tasks that mteb does not know here are kept, with
    the metric ``main_score``. A file that is found twice counts once.

    Args:
        folders: What ``--output-folder`` was given, its ``results`` folder, or a model's folder.
            They are only read. Or one ``ResultsFolder``, alone.

    Returns:
        A row for each metric of each subset, split, task, model and revision, and for a task of
        several subsets a row for the mean of their main scores, whose subset is empty.
        ``headline`` marks the row that is the task's score in a split: that mean, or the main
        score of the only subset. ``low`` and ``high`` are the ends of its 95% interval and of
        other main scores' where the file has them; ``n`` is the number of queries or pairs where
        it is known, ``subsets`` how many subsets the value is over, and ``all_subsets`` how many
        the task has. ``edition`` says what ``dataset_revision`` stands for: the ``paper's`` data,
        ``mteb's`` for tasks of its own, ``sample``, ``another edition``, or ``unknown`` without
        the task. The rows stand in the order of model, revision, task and path, and within a file
        in its own order.

    Raises:
        DataError: If a folder does not exist, or none is named.

    Examples:
        >>> import mteb_ext
        >>> results = mteb_ext.load_results("results")
        >>> int(results["headline"].sum())
        2
    """
    import pandas as pd

    if not folders:
        raise DataError("load_results needs the folders to look in, such as 'results'.")
    rows: list[dict[str, Any]] = []
    held = [folder for folder in folders if isinstance(folder, ResultsFolder)]
    folder = held[0] if held else ResultsFolder(*cast("tuple[str | Path, ...]", folders))
    for path, reason in folder.unreadable:
        logger.warning("%s is left out: the file cannot be read (%s)", path, reason.strerror)
    paths = folder.result_paths()
    if not paths:
        logger.warning("%s: no result files here.", folder.names)
    for path in paths:
        try:
            result = ResultFile.of(path, folder.json(path))
            model = folder.identity(path.parent)
            task = folder.task(result.task)
            rows += list(result.rows(model.label, model.revision, task))  # all or none
        except MtebExtError as error:
            logger.warning("%s is left out: %s", path, error)
    rows.sort(key=lambda row: (row["model"], row["revision"], row["task"], row["path"]))
    return pd.DataFrame(
        {
            name: pd.Series(
                [storable(value) if isinstance(value := row[name], str) else value for row in rows],
                dtype=kind,
            )
            for name, kind in COLUMNS.items()
        }
    )


def read_json(path: Path) -> Any:  # noqa: ANN401 - whatever it holds
    """Read a JSON file that anyone may have written; every number in it is a float.

    Raises:
        DataError: If it cannot be read, is larger than a result can be, or is not JSON.
    """
    try:
        return json_files.read_json(path, parse_int=float, largest=LARGEST)
    except DataError as error:
        raise DataError(
            f"{error} A run that was killed may have left it so; remove it and run again."
        ) from error


@dataclass(frozen=True)
class ResultFile:
    """A result file whose form has been checked.

    Attributes:
        path: The file.
        task: The task's name.
        dataset_revision: Which data it is on.
        mteb_version: mteb's version; empty where the file does not say.
        scores: Its entries by split, one a subset.
    """

    path: Path
    task: str
    dataset_revision: str
    mteb_version: str
    scores: Mapping[str, list[Mapping[str, Any]]]

    @classmethod
    def read(cls, path: Path) -> ResultFile:
        """Read a result file.

        Raises:
            DataError: If it is damaged or holds no result.
        """
        return cls.of(path, read_json(path))

    @classmethod
    def of(cls, path: Path, content: object) -> ResultFile:
        """The result that a file holds.

        Raises:
            DataError: If it holds none.
        """
        if not is_result(content):
            raise DataError("not a result file of mteb 1.11 or newer.")
        task, scores = content["task_name"], content["scores"]
        revision, version = content.get("dataset_revision"), content.get("mteb_version")
        if not (isinstance(task, str) and isinstance(revision, str) and isinstance(scores, dict)):
            raise DataError("not a result file: task, data revision or scores are missing.")
        if task != path.stem:
            raise DataError(f"holds a result of {task}: rename it to {task}.json.")
        for split, entries in scores.items():
            _check_entries(split, entries)
        return cls(path, task, revision, version if isinstance(version, str) else "", scores)

    def rows(self, model: str, revision: str, task: AbsTask | None) -> Iterator[dict[str, Any]]:
        """The rows of :func:`load_results`."""
        from mteb_ext.bases import PaperTask

        whole = {
            "model": model,
            "revision": revision,
            "task": self.task,
            "dataset_revision": self.dataset_revision,
            "edition": edition(task, self.dataset_revision),
            "mteb_version": self.mteb_version,
            "path": str(self.path),
        }
        for split, entries in self.scores.items():
            if isinstance(task, PaperTask):
                _check_range(split, entries)
            rows = list(_split_rows(task, split, entries))
            for row in rows:
                measure = measure_in(task, split, row["subset"], row["metric"])
                if measure and row["n"] is None and whole["edition"] == PAPERS:
                    row["n"] = pairs_in(task, split, row["subset"], measure)
            *parts, last = rows
            if not last["subset"]:  # the mean, over what its subsets' main scores are over
                counts = [row["n"] for row in parts if row["metric"] == last["metric"]]
                last["n"] = None if None in counts else sum(counts)
            yield from (whole | {"split": split} | row for row in rows)


def check_result(path: Path) -> None:
    """See that a file holds a result, by the rules of :func:`load_results`.

    Raises:
        DataError: If it does not.
    """
    result = ResultFile.read(path)
    list(result.rows("", "", known_task(result.task)))


def _check_range(split: str, entries: list[Mapping[str, Any]]) -> None:
    for entry in entries:
        if abs(entry[MAIN_SCORE]) > 1:
            raise DataError(
                f"main_score of {split}, {entry['hf_subset']} is {entry[MAIN_SCORE]:g}, and can be "
                "1 at most: it was edited. Remove it and run again."
            )


def _check_entries(split: str, entries: object) -> None:
    if not isinstance(entries, list) or not entries:
        raise DataError(f"holds no scores of {split}.")
    for entry in entries:
        subset = entry.get("hf_subset") if isinstance(entry, dict) else None
        if not (isinstance(subset, str) and subset):
            raise DataError(f"an entry of {split} names no subset.")
        score = entry.get(MAIN_SCORE)
        if not (isinstance(score, float) and math.isfinite(score)):
            raise DataError(
                f"main_score of {split}, {subset} is {brief(score)}, no number. Remove it and run "
                "again."
            )
    names = [entry["hf_subset"] for entry in entries]
    if len(set(names)) < len(names):
        raise DataError(f"a subset stands twice in {split}.")


def _split_rows(
    task: AbsTask | None, split: str, entries: list[Mapping[str, Any]]
) -> Iterator[dict[str, Any]]:
    main = MAIN_SCORE if task is None else str(task.metadata.main_score)
    subsets = subsets_of(task, split)
    all_subsets = None if subsets is None else len(subsets)
    is_mean = max(len(entries), all_subsets or 1) > 1
    for entry in entries:
        for metric, value in _metrics(entry, main).items():
            yield {
                "subset": entry["hf_subset"],
                "metric": metric,
                "value": value,
                **_interval(entry if metric == main else {}, "ci95"),
                "n": _queries(entry, measure_in(task, split, entry["hf_subset"], metric)),
                "headline": metric == main and not is_mean,
                "subsets": 1,
                "all_subsets": all_subsets,
            }
    if is_mean:
        holder = next((entry for entry in entries if "headline_ci95_low" in entry), {})
        yield {
            "subset": "",
            "metric": main,
            "value": math.fsum(entry[MAIN_SCORE] for entry in entries) / len(entries),
            **_interval(holder if len(entries) == all_subsets else {}, "headline_ci95"),
            "n": None,
            "headline": True,
            "subsets": len(entries),
            "all_subsets": all_subsets,
        }


def _metrics(entry: Mapping[str, Any], main: str) -> dict[str, float]:
    """The metrics of an entry, the main one first.

    Raises:
        DataError: If the main metric among them is not the main score.
    """
    found = {
        name: value
        for name, value in entry.items()
        if isinstance(value, float) and name != MAIN_SCORE and not name.startswith(_NOT_METRICS)
    }
    score = entry[MAIN_SCORE]
    if found.get(main, score) != score:
        raise DataError(
            f"its main_score of {entry['hf_subset']} is {score} and its {main} {found[main]}. It "
            "was edited, or the task had another main score then."
        )
    return {main: score, **found}


def _queries(entry: Mapping[str, Any], measure: Measure | None) -> int | None:
    """Over how many queries a measure is, where the entry says so."""
    count = entry.get(measure.count_key) if measure else None
    return int(count) if isinstance(count, float) and 0 <= count < LARGEST else None


def _interval(entry: Mapping[str, Any], name: str) -> dict[str, float]:
    ends = {end: entry.get(f"{name}_{end}") for end in ("low", "high")}
    return {end: value if isinstance(value, float) else math.nan for end, value in ends.items()}
