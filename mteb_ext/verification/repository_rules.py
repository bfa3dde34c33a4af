"""What mteb's own repository of results asks of a file, beside what every result must have.

They are the tests that https://github.com/embeddings-benchmark/results runs on a pull request: they
look every task and model name up in a plain mteb, and compare with what was there before.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from mteb_ext.analysis.reading import MAIN_SCORE, ResultFile
from mteb_ext.bases.task import SAMPLE_SUFFIX
from mteb_ext.errors import DataError
from mteb_ext.files import read_regular
from mteb_ext.formats.layout import LARGEST_SMALL, MODEL_META, RUN_SETTINGS
from mteb_ext.json_files import brief
from mteb_ext.verification.findings import Finding
from mteb_ext.verification.inventory import FoundResult, entries

LARGEST_CHANGE = 0.001  # of a main score that is there already
_ROUNDING = 1e-9
_NO_REVISIONS = frozenset({"no_revision_available", "external", "None", ""})


def rule_findings(results: Sequence[FoundResult], before: Path | None = None) -> Iterator[Finding]:
    """What in results breaks a rule of mteb's repository.

    Args:
        results: The results.
        before: The folder of what was there before, if that is to be compared: a checkout of the
            repository, an output folder, or its ``results``.

    Raises:
        DataError: If that folder does not exist.
    """
    if before is not None and not before.is_dir():
        raise DataError(f"{before} is not a folder: there is nothing to compare with.")
    known = _names_in_mteb()
    covered = cache(_covered)  # one file speaks of all results of a model
    for result in results:
        old = before and _path_before(result, before)
        yield from _whose(result, is_new=old is None)
        yield from _experiment(result)
        yield from _in_mteb(result, *known)
        yield from _run_settings(result, covered)
        if old is not None:
            yield from _compared(old, result)
    yield from _revisions(results)


def _path_before(result: FoundResult, before: Path) -> Path | None:
    """The file of the same model, revision and task; None where there is none."""
    for root in (before / "results", before):
        path = result.place.below(root) / result.file.path.name
        if path.exists():
            return path
    return None


def _compared(old: Path, result: FoundResult) -> Iterator[Finding]:
    try:
        yield from _since(ResultFile.read(old), result)
    except DataError as error:
        yield result.finding(
            "no-comparison",
            f"{old} cannot be read for the comparison: {error}",
            "Take another copy of what was there before.",
        )


def _names_in_mteb() -> tuple[set[str], set[str]]:
    """The tasks that are not in a plain mteb, and the models that are."""
    import mteb

    from mteb_ext.plugin.discovery import added_models, added_tasks

    return added_tasks(), {str(meta.name) for meta in mteb.get_model_metas()} - added_models()


def _whose(result: FoundResult, *, is_new: bool) -> Iterator[Finding]:
    """Whether the folder says which model it is of, and in which state."""
    meta = result.file.path.with_name(MODEL_META)
    if not meta.exists():
        yield result.finding(
            "no-model-meta",
            f"{MODEL_META} is missing in its folder, so nothing names the model.",
            f"Put the one that the run wrote there. {result.run_again}",
        )
    if is_new and result.revision in _NO_REVISIONS:
        yield result.finding(
            "no-revision",
            f"the model's revision is {result.revision or 'empty'}: nobody can get the same model.",
            "Run the model by its name, or from its folder with 'mteb-ext run', which gives it a "
            "revision of its own. A class of your own states one in its mteb_model_meta "
            "(ModelMeta's revision).",
        )
    folder = result.name.replace("/", "__").replace(" ", "_")
    here = result.place
    if (here.model, here.revision) != (folder, result.revision):
        yield result.finding(
            "wrong-folder",
            f"{MODEL_META} names {result.name}, revision {result.revision}, and the folder is "
            f"{here.model}/{here.revision}.",
            f"Move it to {folder}/{result.revision}, if {MODEL_META} is right.",
        )


def _experiment(result: FoundResult) -> Iterator[Finding]:
    """Whether the options in the model's file are those that its folder is named after."""
    from mteb.models import ModelMeta

    options = dict(result.identity.options)
    meta = ModelMeta.create_empty(overwrites={"experiment_kwargs": options or None})
    named = meta.experiment_name or ""
    if named != result.place.experiment:
        yield result.finding(
            "wrong-folder",
            f"{MODEL_META} states the options {brief(str(options or 'none'))}, and the file lies "
            f"in the folder of {result.place.experiment or 'a model without options'}.",
            f"Restore the {MODEL_META} that the run wrote. {result.run_again}",
        )


def _in_mteb(result: FoundResult, added: set[str], models: set[str]) -> Iterator[Finding]:
    task = result.file.task
    if task.removesuffix(SAMPLE_SUFFIX) in added:
        yield result.finding(
            "task-not-in-mteb",
            f"mteb itself has no task {task}.",
            "Keep its results in a folder or repository of your own.",
        )
    if result.name not in models:
        yield result.finding(
            "model-not-in-mteb",
            f"mteb itself has no model {result.name}.",
            "Add the model to mteb first, or keep its results in a folder of your own.",
        )
    version = re.match(r"(\d+)\.", result.file.mteb_version)
    if version is None or int(version[1]) < 2:
        yield result.finding(
            "mteb-version",
            f"mteb's version is {result.file.mteb_version or 'missing'}, and must be 2.0 or newer.",
            result.run_again,
        )


def _run_settings(
    result: FoundResult, covered_by: Callable[[Path], set[tuple[str, str, str]]]
) -> Iterator[Finding]:
    path = result.file.path.with_name(RUN_SETTINGS)
    covered = covered_by(path)
    lacking = [
        f"{split}, {subset}"
        for split, subset, _ in entries(result.file)
        if (result.file.task, split, subset) not in covered
    ]
    if lacking:
        yield result.finding(
            "run-settings",
            f"{RUN_SETTINGS} beside it does not say how {result.file.task} ({lacking[0]}) was run"
            + (f", nor {len(lacking) - 1} more." if lacking[1:] else "."),
            result.run_again,
        )


def _covered(path: Path) -> set[tuple[str, str, str]]:
    """Task, split and subset of all that run settings speak of; damaged lines speak of nothing."""
    try:
        lines = (read_regular(path, LARGEST_SMALL) or b"").decode("utf-8").splitlines()
    except (OSError, ValueError):
        return set()
    found = set()
    for line in lines:
        try:
            settings = json.loads(line)
            splits = settings.get("splits") or [settings["split"]]
            subsets = settings.get("subsets") or [settings["subset"]]
            found |= {(settings["task"], split, s) for split in splits for s in subsets}
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            continue
    return found


def _since(old: ResultFile, new: FoundResult) -> Iterator[Finding]:
    """What was removed or changed since."""
    before = {(split, subset): entry for split, subset, entry in entries(old)}
    now = {(split, subset): entry for split, subset, entry in entries(new.file)}
    put_back = "Add what was removed, or say why it is not to be there."
    for split in old.scores:
        if split not in new.file.scores:
            yield new.finding("removed-split", f"its split {split} was removed.", put_back)
    for (split, subset), entry in before.items():
        if split not in new.file.scores:
            continue
        where = f"{split}, {subset}"
        if (split, subset) not in now:
            yield new.finding("removed-subset", f"its subset {where} was removed.", put_back)
            continue
        if gone := _languages(entry) - _languages(now[split, subset]):
            reason = f"the languages {', '.join(sorted(gone))} of {where} were removed."
            yield new.finding("removed-language", reason, put_back)
        scores = _main_score(entry), _main_score(now[split, subset])
        if abs(scores[1] - scores[0]) > LARGEST_CHANGE + _ROUNDING:
            yield new.finding(
                "score-change",
                f"the main score of {where} was {scores[0]:g} and is {scores[1]:g} now, which is "
                f"more than {LARGEST_CHANGE} apart.",
                "Find out what differs between the two runs: versions, prompts, precision.",
            )


def _languages(entry: Mapping[str, Any]) -> set[str]:
    languages = entry.get("languages")
    return {str(name) for name in languages} if isinstance(languages, list) else set()


def _main_score(entry: Mapping[str, Any]) -> float:
    score: float = entry[MAIN_SCORE]
    return score


def _revisions(results: Sequence[FoundResult]) -> Iterator[Finding]:
    by_model: dict[tuple[str, str], dict[str, FoundResult]] = {}
    for result in results:
        by_model.setdefault((result.model, result.file.task), {})[result.revision] = result
    for of_revision in by_model.values():
        if len(of_revision) > 1:
            for result in of_revision.values():
                yield result.finding(
                    "several-revisions",
                    f"{result.model} has results of {result.file.task} by the revisions "
                    f"{', '.join(of_revision)}.",
                    "Submit those of the revision that mteb's registry names.",
                )
