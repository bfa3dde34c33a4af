"""All that folders of results hold: results, kept predictions, stamps, and what does not belong."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mteb_ext.analysis.folder import ResultsFolder
from mteb_ext.analysis.reading import ResultFile
from mteb_ext.errors import DataError
from mteb_ext.formats.identity import Identity
from mteb_ext.formats.layout import (
    MODEL_META,
    PREDICTIONS,
    RUN_SETTINGS,
    STAMP,
    Place,
    output_folder_of,
)
from mteb_ext.formats.leaks import ENDING as LEAKS
from mteb_ext.formats.predictions import Predictions
from mteb_ext.formats.result import is_result
from mteb_ext.formats.stamp import Stamp
from mteb_ext.plugin.lookup import find_task
from mteb_ext.verification.findings import Finding

if TYPE_CHECKING:
    from mteb.abstasks import AbsTask

LARGEST_RESULT = 10 << 20  # bytes; the limit of mteb's repository of results
_REMOVE = "Remove it, or put it elsewhere."


@dataclass(frozen=True)
class FoundResult:
    """A result with what is beside it.

    Attributes:
        file: The result file.
        identity: The model.
        task: The task; None where mteb knows none of that name here.
        unknown: Why there is no task.
        stamp: What made it; None where there is no readable stamp.
    """

    file: ResultFile
    identity: Identity
    task: AbsTask | None
    unknown: str
    stamp: Stamp | None

    @property
    def model(self) -> str:
        """The model, with the options of an experiment."""
        return self.identity.label

    @property
    def name(self) -> str:
        """The model without them."""
        return self.identity.name

    @property
    def revision(self) -> str:
        """The model's revision."""
        return self.identity.revision

    @cached_property
    def place(self) -> Place:
        """Which model's folder it is in."""
        return Place.of(self.file.path)

    @property
    def key(self) -> tuple[str, str, str]:
        """The model, revision and task."""
        return self.model, self.revision, self.file.task

    def finding(self, code: str, reason: str, remedy: str, file: Path | None = None) -> Finding:
        """A finding about it, or about a file that belongs to it."""
        return Finding(code, file or self.file.path, *self.key, reason, remedy)

    @property
    def supplied(self) -> bool:
        """Whether its scores are of outputs that were made elsewhere."""
        return self.stamp is not None and self.stamp.supplied is not None

    @cached_property
    def run_again(self) -> str:
        """The command that makes it anew."""
        if self.stamp and self.stamp.supplied is not None:
            files = [file.name for file in self.stamp.supplied]
            words = ["mteb-ext", "score", *files, "-t", self.file.task, "--name", self.name]
            return f"Score the outputs again: {shlex.join(words)}"
        words = ["mteb-ext", "run", *self._model_words()]
        words += ["-t", self.file.task, "--overwrite-strategy", "always"]
        if folder := output_folder_of(self.file.path):
            words += ["--output-folder", str(folder)]
        return f"Run it again: {shlex.join(words)}"

    def _model_words(self) -> list[str]:
        """The words of a command that name the model as the run did, as far as a stamp tells."""
        model = self.stamp.model if self.stamp else {}
        given = model.get("model")
        words = ["-m", given if isinstance(given, str) else self.name]
        for option in ("name", "kind"):
            if isinstance(value := model.get(option), str):
                words += [f"--{option}", value]
        if isinstance(options := model.get("model_kwargs"), dict) and options:
            words += ["--model-kwargs", json.dumps(options)]
        if isinstance(prompts := model.get("prompts"), dict) and prompts:
            words += ["--prompt", *(f"{key}={prompt}" for key, prompt in prompts.items())]
        return words


@dataclass
class Inventory:
    """What folders hold.

    Attributes:
        folder: What they were read from.
        results: The results.
        predictions: The prediction files of this package's tasks and of plugins on its bases.
        others: The prediction files of other tasks, by place and task: what they hold is not read.
        findings: What does not belong, or cannot be read.
        damaged: Places and tasks of damaged files.
        tasks: The task of each name, or why there is none.
    """

    folder: ResultsFolder
    results: list[FoundResult] = field(default_factory=list)
    predictions: list[Predictions] = field(default_factory=list)
    others: dict[tuple[Place, str], Path] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    damaged: set[tuple[Place, str]] = field(default_factory=set)
    tasks: dict[str, tuple[AbsTask | None, str]] = field(default_factory=dict)

    @classmethod
    def of(cls, folder: ResultsFolder) -> Inventory:
        """Look through a folder."""
        found = cls(folder)
        paths = folder.paths
        for path, error in folder.unreadable:
            found._unreadable(path, error)
        stamps = [path for path in paths if path.suffix == STAMP]
        metas = {path.parent for path in paths if path.name == MODEL_META}
        models = metas | {path.parent for path in stamps}
        candidates = [p for p in paths if p.suffix == ".json" and p.name != MODEL_META]
        for path in candidates:
            is_of_model = path.parent in models
            if path.name.endswith(LEAKS) and not is_of_model:
                found._check_leaks(path)
            elif not path.name.endswith(PREDICTIONS):
                found._add_result(path, is_of_model=is_of_model)
        models |= {result.file.path.parent for result in found.results}
        for path in paths:
            if path.parent in models:
                found._look_at(path)
        found._add_predictions(folder.prediction_paths())
        found._add_stray_stamps(stamps)
        return found

    def _unreadable(self, path: Path, error: OSError) -> None:
        reason = f"cannot be read ({error.strerror})."
        self._add("unreadable-file", path, reason, "Make it readable, or remove it.")

    def _add(self, code: str, path: Path, reason: str, remedy: str, task: str = "") -> None:
        here = self.folder.identity(path.parent) if task else None
        model, revision = (here.label, here.revision) if here else ("", "")
        self.findings.append(Finding(code, path, model, revision, task, reason, remedy))

    def _check_leaks(self, path: Path) -> None:
        try:
            self.folder.leaks(path)
        except DataError as error:
            self._add("damaged-leaks", path, str(error).removeprefix(f"{path} "), "")

    def _add_result(self, path: Path, *, is_of_model: bool) -> None:
        try:
            content = self.folder.json(path)
        except DataError as error:
            code = "damaged-file"
            self._add(code, path, str(error), "Remove it, and run the task again.", path.stem)
            self.damaged.add((Place.of(path), path.stem))
            return
        if not is_result(content):
            code = "foreign-file" if is_of_model else "other-json"
            self._add(code, path, "holds JSON, and no result of mteb 1.11 or newer.", _REMOVE)
            return
        name = content["task_name"]
        if name != path.stem and isinstance(name, str):
            reason = f"holds a result of {name}, and is named after another task."
            self._add("wrong-name", path, reason, f"Rename it to {name}.json.", path.stem)
            return
        try:
            file = ResultFile.of(path, content)
        except DataError as error:
            remedy = "Remove it, and run the task again."
            self._add("malformed-result", path, str(error), remedy, path.stem)
            return
        self.results.append(self._result(file))

    def _result(self, file: ResultFile) -> FoundResult:
        identity = self.folder.identity(file.path.parent)
        task, unknown = self._task(file.task)
        path = file.path.with_suffix(STAMP)
        stamp = None
        if path.exists():
            try:
                stamp = self.folder.stamp(path)
            except DataError as error:
                remedy = "Remove it, or run the task again with --overwrite-strategy always."
                self._add("damaged-stamp", path, str(error), remedy, file.task)
        return FoundResult(file, identity, task, unknown, stamp)

    def _look_at(self, path: Path) -> None:
        """Look at a file in a model's folder from outside."""
        known = path.suffix in {".json", STAMP}
        if path.is_symlink():
            reason = f"is a link to {path.readlink()}; who gets the folder may not get the file."
            self._add("link", path, reason, "Put a copy of the file in its place.")
        size = path.stat().st_size
        if size > LARGEST_RESULT:
            reason = f"has {size / 2**20:.1f} MB, and mteb's repository takes 10 at most."
            remedy = "Remove what is no score, or run the task again."
            self._add("large-file", path, reason, remedy, path.stem if known else "")
        if path.name == MODEL_META:
            try:
                named = isinstance(self.folder.metadata(path).get("name"), str)
                fault = "" if named else "names no model."
            except DataError as error:
                fault = str(error)
            if fault:
                remedy = "Remove it, and run one of the model's tasks again."
                self._add("damaged-file", path, fault, remedy)
        elif not known and path.name != RUN_SETTINGS:
            self._add("foreign-file", path, "no run of mteb leaves such a file here.", _REMOVE)

    def _add_predictions(self, paths: Sequence[Path]) -> None:
        for path in paths:
            name = path.name.removesuffix(PREDICTIONS)
            if not is_ours(self._task(name)[0]):
                self.others[Place.of(path), name] = path
                continue
            try:
                predictions = self.folder.predictions(path)
                assert predictions.digest  # damaged where it has none
                self.predictions.append(predictions)
            except DataError as error:
                place = Place.of(path)
                owner = (r for r in self.results if (r.place, r.file.task) == (place, name))
                remedy = "Remove it, and run the task again with --overwrite-strategy always."
                result = next(owner, None)
                self.damaged.add((place, name))
                if result is None:
                    self._add("damaged-file", path, str(error), remedy)
                else:
                    self.findings.append(result.finding("damaged-file", str(error), remedy, path))

    def _task(self, name: str) -> tuple[AbsTask | None, str]:
        if name not in self.tasks:
            try:
                self.tasks[name] = find_task(name), ""
            except DataError as error:
                self.tasks[name] = None, str(error)
        return self.tasks[name]

    def _add_stray_stamps(self, stamps: Sequence[Path]) -> None:
        for path in stamps:
            if not path.with_suffix(".json").exists():
                reason = "there is no result beside it."
                self._add("stray-stamp", path, reason, "Remove it, or run the task again.")


def is_ours(task: AbsTask | None) -> bool:
    """Whether a task is of this package or on one of its bases."""
    from mteb_ext.bases import PaperTask

    return isinstance(task, PaperTask)


def by_key(results: Sequence[FoundResult]) -> Mapping[tuple[str, str, str], list[FoundResult]]:
    """Results by model, revision and task."""
    grouped: dict[tuple[str, str, str], list[FoundResult]] = {}
    for result in results:
        grouped.setdefault(result.key, []).append(result)
    return grouped


def entries(file: ResultFile) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Split, subset and scores of each entry of a result."""
    for split, of_split in file.scores.items():
        for entry in of_split:
            yield split, entry["hf_subset"], entry
