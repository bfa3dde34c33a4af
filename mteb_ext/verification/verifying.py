"""A passport for results: every score computed again, and all that can be checked beside it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, cast

from mteb_ext.analysis.folder import Folders, ResultsFolder
from mteb_ext.bases.task import SAMPLE_SUFFIX, UNVERIFIED
from mteb_ext.data.sources import SampleFiles
from mteb_ext.errors import DataError
from mteb_ext.formats.layout import STAMP, Place
from mteb_ext.formats.predictions import Predictions
from mteb_ext.json_files import brief
from mteb_ext.protocol import protocol_version
from mteb_ext.verification.findings import CODES, Finding, Verdict, VerifyReport, verdict
from mteb_ext.verification.inventory import (
    FoundResult,
    Inventory,
    by_key,
    entries,
    is_ours,
)
from mteb_ext.verification.repository_rules import rule_findings
from mteb_ext.verification.rescoring import N_MISSING, changed_predictions, recompute

if TYPE_CHECKING:
    from mteb_ext.bases import PaperTask

_LEVELS = list(CODES)


def verify_results(folders: Folders, *, against: str | Path | None = None) -> VerifyReport:
    """Verify every result below folders; nothing is written and no model is run.

    Args:
        folders: One folder or several: what ``--output-folder`` was given, or a folder above.
        against: What was there before, in the same layout, such as a checkout of mteb's
            repository of results: what was removed since, and main scores that changed, are
            findings.

    Returns:
        The findings, and a verdict for each model, revision and task.

    Raises:
        DataError: If a folder does not exist.
    """
    held = Inventory.of(ResultsFolder.of(folders))
    before = None if against is None else Path(against)
    checks = _Checks(held)
    found = list(
        dict.fromkeys([*held.findings, *rule_findings(held.results, before), *checks.findings()])
    )
    found.sort(key=lambda f: (_LEVELS.index(f.level), str(f.file), f.code))
    return VerifyReport(found, _verdicts(found, held, checks.recomputed))


def _verdicts(
    found: Sequence[Finding], held: Inventory, recomputed: set[Path]
) -> dict[tuple[str, str, str], Verdict]:
    by_result: dict[tuple[str, str, str], list[Finding]] = {}
    for finding in found:
        if finding.task:
            key = (finding.model, finding.revision, finding.task)
            by_result.setdefault(key, []).append(finding)
    results = by_key(held.results)
    return {
        key: verdict(
            by_result.get(key, ()),
            recomputed=all(result.file.path in recomputed for result in results.get(key, ())),
            supplied=any(result.supplied for result in results.get(key, ())),
        )
        for key in sorted({*results, *by_result})
    }


class _Checks:
    """All that is checked of single results and of their predictions.

    Attributes:
        recomputed: The results of which every score was computed again.
    """

    def __init__(self, held: Inventory) -> None:
        self._held = held
        self._at_places: dict[tuple[Place, str], list[Predictions]] = {}
        self._elsewhere: dict[tuple[str, str, str], list[Predictions]] = {}
        self._used: set[Path] = set()
        self.recomputed: set[Path] = set()
        places = {result.place for result in held.results}
        for file in held.predictions:
            if file.place in places:
                self._at_places.setdefault((file.place, file.task), []).append(file)
            else:
                names = (file.model, file.revision, file.task)
                self._elsewhere.setdefault(names, []).append(file)

    def findings(self) -> Iterator[Finding]:
        """Check everything, task by task."""
        for _, of_task in groupby(
            sorted(self._held.results, key=lambda result: result.file.task),
            key=lambda result: result.file.task,
        ):
            for result in of_task:
                if result.task is None:
                    yield result.finding(
                        "unknown-task",
                        result.unknown,
                        "Install the plugin that has it (or name it in MTEB_EXT_PATH), or remove "
                        "the file.",
                    )
                yield from _stamp(result, self._held.folder)
                yield from _model_revision(result)
                if is_ours(result.task):
                    yield from _protocol(result)
                    yield from _cut(result)
                    yield from self._scores(result)
                else:
                    yield from _form(result)
                    yield from self._other_predictions(result)
        yield from _twice(self._held.results)
        yield from _alike(self._held.predictions)
        yield from self._stray()

    def _scores(self, result: FoundResult) -> Iterator[Finding]:
        files = self._predictions_of(result)
        self._used |= {file.path for file in files}
        mine = [file for file in files if (file.model, file.revision) == _identity(result)]
        for file in files:
            if file not in mine:
                yield result.finding(
                    "other-model",
                    f"these are the predictions of {file.model}, revision {file.revision}, and "
                    f"the result beside them is of {result.name}, revision {result.revision}.",
                    result.run_again,
                    file.path,
                )
        if not files and (result.place, result.file.task) not in self._held.damaged:
            yield result.finding(
                "no-predictions",
                "not verifiable: no predictions were kept, so that no score can be computed again.",
                f"Run with predictions kept. {result.run_again}",
            )
        proven = bool(mine)
        for file in mine:
            recomputed = recompute(self._held.folder, result, file)
            yield from recomputed.findings
            proven = proven and recomputed.whole
        if proven:
            self.recomputed.add(result.file.path)

    def _other_predictions(self, result: FoundResult) -> Iterator[Finding]:
        """Whether the predictions of another package's task are those that the stamp names."""
        path = self._held.others.get((result.place, result.file.task))
        stamped = result.stamp and result.stamp.predictions_sha256
        if path and stamped and self._held.folder.sha256(path) != stamped:
            yield changed_predictions(result, path)

    def _predictions_of(self, result: FoundResult) -> list[Predictions]:
        """The files at the result's place, and others that say that they are of its model."""
        here = self._at_places.get((result.place, result.file.task), [])
        elsewhere = self._elsewhere.get((*_identity(result), result.file.task), [])
        # A file elsewhere does not say with which options its model was run.
        return here or elsewhere if result.place.experiment else [*here, *elsewhere]

    def _stray(self) -> Iterator[Finding]:
        for file in self._held.predictions:
            if file.path not in self._used:
                yield Finding(
                    "stray-predictions",
                    file.path,
                    *("", "", ""),
                    f"there is no result of {file.model}, revision {file.revision}, beside these "
                    "predictions.",
                    "Remove them, or name the folder of their result too.",
                )


def _identity(result: FoundResult) -> tuple[str, str]:
    return result.name, result.revision


def _stamp(result: FoundResult, folder: ResultsFolder) -> Iterator[Finding]:
    """What the stamp says, beside what the result says."""
    path, stamp = result.file.path.with_suffix(STAMP), result.stamp
    if stamp is None:
        if is_ours(result.task) and not path.exists():
            yield result.finding(
                "no-stamp",
                "there is no stamp beside it, as 'mteb run' leaves none: nothing says which "
                "versions, data and hardware made it.",
                "Nothing has to be done; 'mteb-ext run' leaves one.",
            )
        return
    stated = (stamp.task, stamp.model_name, stamp.model_revision, stamp.dataset_revision)
    found = (result.file.task, *_identity(result), result.file.dataset_revision)
    names = ("task", "model", "model revision", "dataset revision")
    for name, one, other in zip(names, stated, found, strict=True):
        if one != other:
            reason = f"its {name} is {one}, and that of the result beside it {other}."
            yield result.finding("other-stamp", reason, result.run_again, path)
    if stamp.result_sha256 not in {None, folder.sha256(result.file.path)}:
        yield result.finding(
            "changed-result",
            f"was changed after the run: {path.name} names another sha256.",
            f"Take the file that the run left. {result.run_again}",
        )
    packages = {"mteb": "mteb", "mteb-ext": "mteb_ext"}
    here = {name: sys.modules[module].__version__ for name, module in packages.items()}
    others = [
        f"{name} {stamp.libraries[name]} (here {installed})"
        for name, installed in here.items()
        if stamp.libraries.get(name, installed) != installed
    ]
    if others:
        yield result.finding(
            "other-versions",
            f"was made with {' and '.join(others)}.",
            "Nothing has to be done: the scores are computed again by the versions here.",
        )


def _model_revision(result: FoundResult) -> Iterator[Finding]:
    from mteb.models.model_implementations import MODEL_REGISTRY

    meta = MODEL_REGISTRY.get(result.name)
    if meta is not None and meta.revision not in {None, result.revision}:
        yield result.finding(
            "other-model-revision",
            f"is of the model's revision {result.revision}, and mteb's registry names "
            f"{meta.revision}.",
            f"Nothing has to be done, unless the other one is meant. {result.run_again}",
        )


def _form(result: FoundResult) -> Iterator[Finding]:
    """Whether a result of another package's task is fit for a report."""
    try:
        list(result.file.rows("", "", result.task))
    except DataError as error:
        yield result.finding("malformed-result", str(error), result.run_again)


def _protocol(result: FoundResult) -> Iterator[Finding]:
    """Whether a result is of the task's data, by its protocol, and whole."""
    task = cast("PaperTask", result.task)
    yield from _edition(result, task)
    version = result.stamp and result.stamp.protocol_version
    if version and version != protocol_version(task.protocol):
        yield result.finding(
            "old-protocol",
            f"was made by version {version} of the task's protocol; the version here is "
            f"{protocol_version(task.protocol)}.",
            result.run_again,
        )
    for split in task.metadata.eval_splits:
        if split not in result.file.scores:
            reason = f"lacks the split {split}, on which the task is evaluated."
            yield result.finding("missing-split", reason, result.run_again)
    for split, of_split in result.file.scores.items():
        there = task.subsets(split) if split in task.splits() else []
        found = [entry["hf_subset"] for entry in of_split]
        if missing := [subset for subset in there if subset not in found]:
            reason = f"{', '.join(missing)} of {split} is missing: the mean is over other subsets."
            yield result.finding("missing-subset", reason, result.run_again)
        if unknown := [subset for subset in found if subset not in there]:
            reason = f"the task has no {split}, {unknown[0]}."
            yield result.finding("unknown-subset", reason, result.run_again)
    yield from _languages(result, task)


def _cut(result: FoundResult) -> Iterator[Finding]:
    """Whether supplied outputs lacked scores, which were then the lowest."""
    for split, subset, entry in entries(result.file):
        if result.supplied and N_MISSING in entry:
            yield result.finding(
                "cut-outputs",
                f"{brief(entry[N_MISSING]).removesuffix('.0')} candidates had no score in the "
                f"supplied outputs, and stand below all others ({split}, {subset}).",
                "Nothing has to be done. A system that scores every candidate has no such note.",
            )


def _languages(result: FoundResult, task: PaperTask) -> Iterator[Finding]:
    wrong = []
    for split, subset, entry in entries(result.file):
        expected = task.metadata.hf_subsets_to_langscripts.get(subset, [])
        stated = entry.get("languages")
        names = [brief(n) for n in stated] if isinstance(stated, list) else [brief(stated)]
        if expected and names != [brief(name) for name in expected]:
            where = f"{split}, {subset}"
            wrong.append(f"{', '.join(names)} in {where}, not {', '.join(map(brief, expected))}")
    if wrong:
        more = f", and {len(wrong) - 1} more entries are so" if wrong[1:] else ""
        reason = f"the languages are not the task's: {wrong[0]}{more}."
        yield result.finding("other-languages", reason, result.run_again)


def _edition(result: FoundResult, task: PaperTask) -> Iterator[Finding]:
    revision, name = result.file.dataset_revision, task.metadata.name
    if isinstance(task.source, SampleFiles):
        yield result.finding(
            "sample-data",
            "is on made-up sample rows: the numbers mean nothing.",
            f"Remove it, and run {name.removesuffix(SAMPLE_SUFFIX)} on the real data.",
        )
    elif revision.startswith(UNVERIFIED) and task.editions_differ:
        yield result.finding(
            "unverified-data",
            f"is on another edition of the data than the paper's ({revision}): the numbers do "
            "not compare with published ones.",
            f"Run it on the paper's edition, or keep it apart. {result.run_again}",
        )
    elif revision != task.metadata.revision:
        yield result.finding(
            "other-data",
            f"is on the dataset revision {revision}, and the task's is {task.metadata.revision}.",
            result.run_again,
        )


def _twice(results: Sequence[FoundResult]) -> Iterator[Finding]:
    """The same result in several files."""
    for same in by_key(results).values():
        for result in same[1:]:
            agree = _numbers(result) == _numbers(same[0])
            yield result.finding(
                "duplicate" if agree else "contradiction",
                f"{same[0].file.path} is of the same model, revision and task"
                + (", with the same scores." if agree else ", with other scores."),
                "Keep the one that is right, and remove the other.",
            )


def _numbers(result: FoundResult) -> dict[tuple[str, str], dict[str, float]]:
    return {
        (split, subset): {k: v for k, v in entry.items() if isinstance(v, float)}
        for split, subset, entry in entries(result.file)
    }


def _alike(files: Sequence[Predictions]) -> Iterator[Finding]:
    """Predictions of several models that are equal to the last digit."""
    by_digest: dict[tuple[str, str], Predictions] = {}
    for file in files:
        first = by_digest.setdefault((file.task, file.digest), file)
        if first.model != file.model:
            yield Finding(
                "same-predictions",
                file.path,
                *(file.model, file.revision, file.task),
                f"equal to the last digit those of {first.model} in {first.path}.",
                "If the models are not the same under two names, run one of them again.",
            )
