"""Outputs of any system, scored by a task's protocol and written as a run's results are."""

from __future__ import annotations

import hashlib
import json
import re
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

from mteb_ext.bases import PaperRanking, PaperSTS, PaperTask
from mteb_ext.bases.task import DEFAULT_SUBSET, errors_named
from mteb_ext.errors import DataError
from mteb_ext.files import sha256_of
from mteb_ext.formats.predictions import write_predictions
from mteb_ext.formats.stamp import Stamp, SuppliedFile, file_sha256, read_stamp
from mteb_ext.names import did_you_mean
from mteb_ext.outputs.files import read_text
from mteb_ext.outputs.forms import read_outputs
from mteb_ext.outputs.pairs import Matched, match_pairs
from mteb_ext.outputs.python import GIVEN, outputs_of
from mteb_ext.outputs.rankings import Ids, match_rankings
from mteb_ext.outputs.rows import Outputs
from mteb_ext.plugin.lookup import find_task, paper_task
from mteb_ext.protocol import protocol_version
from mteb_ext.running.stamp import hardware, libraries
from mteb_ext.running.store import Store
from mteb_ext.verification.rescoring import N_MISSING, headline_interval, rescore

if TYPE_CHECKING:
    from mteb.models import ModelMeta
    from mteb.results import TaskResult

_NAME = re.compile(r"[\w.\-]*\w[\w.\-]*/[\w.\-]*\w[\w.\-]*")
_REVISION = re.compile(r"[\w.\-]*\w[\w.\-]*")
_DIGITS = 16  # of a digest that serves as a revision


@dataclass(frozen=True)
class Scored:
    """Outputs with their scores.

    Attributes:
        result: mteb's result.
        remarks: What the user should know of the outputs.
        stamp: What the result was made of.
        predictions: The scores as they were matched to the task, by subset.
        meta: The system that they are said to be of.
    """

    result: TaskResult
    remarks: Sequence[str]
    stamp: Stamp
    predictions: Mapping[str, object]
    meta: ModelMeta


def score(
    task: str,
    outputs: object,
    *,
    name: str,
    revision: str | None = None,
    split: str | None = None,
    subset: str | Sequence[str] | None = None,
    format: str | None = None,
    ids: Ids = "names",
    missing: Literal["lowest"] | None = None,
    output_folder: str | Path | None = None,
) -> TaskResult:
    """Score the outputs of any system by a task's protocol; no model is run.

    Args:
        task: The name of a task of this package, or of a plugin on its bases.
        outputs: The path of a file or a list of paths; scores by query and document; scores in the
            order of the task's rows, or such by subset; or a frame with the columns ``query``,
            ``document`` and ``score``, or ``id`` and ``score``, or ``score``.
        name: Whose outputs they are, as ``ORG/SYSTEM``.
        revision: Their revision; the beginning of their sha256 where it is not given.
        split: The split; the one that the task is evaluated on where it is not given.
        subset: The subset that they are of, or of several files one each; not needed where they
            are of all, or name it themselves.
        format: The format of files; found by their beginnings where it is not given.
        ids: ``names`` where identifiers are the dataset's own, ``positions`` where they are running
            numbers.
        missing: ``lowest`` gives candidates without a score one below all others; the result then
            has ``n_missing``. Otherwise they are an error.
        output_folder: Where the result, the predictions, ``model_meta.json`` and a stamp go, in the
            layout of ``mteb-ext run``; nothing is written where it is not given.

    Returns:
        mteb's result.

    Raises:
        DataError: If there is no such task, split or subset, the outputs cannot be read, or they do
            not give every item exactly one finite score.
        UndefinedMetricError: If the scores are constant, so that no correlation is defined.

    Examples:
        >>> import mteb_ext
        >>> rows = mteb_ext.load_dataset("STSBenchmarkSemEval.sample")
        >>> gold = rows["score"]
        >>> result = mteb_ext.score("STSBenchmarkSemEval.sample", gold, name="lab/gold")
        >>> round(float(result.get_score()), 4)
        1.0
    """
    subsets = [subset] if isinstance(subset, str) else list(subset or ())
    found = score_outputs(
        task, outputs, name, revision, split, subsets, format, ids, fill=missing == "lowest"
    )
    if output_folder is not None:
        write(found, Path(output_folder))
    return found.result


def score_outputs(
    task_name: str,
    given: object,
    name: str,
    revision: str | None = None,
    split: str | None = None,
    subsets: Sequence[str] = (),
    form: str | None = None,
    ids: Ids = "names",
    *,
    fill: bool = False,
) -> Scored:
    """See :func:`score`; nothing is written."""
    started = time.monotonic()
    _check_names(name, revision)
    task = _loaded(task_name, split)
    [split] = task.eval_splits
    _check_subsets(task, split, subsets)
    parts = _read(given, split, subsets, form)
    for outputs, _ in parts:
        if outputs.dataset_revision not in {None, task.metadata.revision}:
            raise DataError(
                f"{outputs.origin} has scores on the dataset revision {outputs.dataset_revision}, "
                f"and the data here is of {task.metadata.revision}."
            )
    matched = _joined([_match(task, split, *part, ids, fill=fill) for part in parts])
    supplied, digest = _supplied([outputs for outputs, _ in parts], matched)
    meta = _meta(name, revision or digest[:_DIGITS])
    with errors_named(task.metadata.name, split, DEFAULT_SUBSET):
        result = _result(task, split, matched, started)
    stamp = Stamp(
        task=task.metadata.name,
        dataset_revision=task.metadata.revision,
        data_fingerprints=task.fingerprints,
        protocol=task.protocol.source,
        protocol_version=protocol_version(task.protocol),
        model={},
        model_name=name,
        model_revision=str(meta.revision),
        result_sha256=None,
        predictions_sha256=None,
        seconds=round(time.monotonic() - started, 3),
        command=list(sys.argv),
        libraries=libraries(),
        hardware=hardware(),
        supplied=supplied,
    )
    return Scored(result, matched.remarks, stamp, matched.predictions, meta)


def write(scored: Scored, folder: Path) -> None:
    """Write the files of a result, as ``mteb-ext run`` would have left them.

    Raises:
        RunError: If the folder cannot be written.
        DataError: If there are other results of the same name, revision and task.
    """
    from mteb.cache import ResultCache

    store, meta, name = Store(folder.absolute()), scored.meta, scored.stamp.task
    store.check()
    _check_free(store, scored)
    with store.claim(meta, name, wait=True) as place:
        assert place is not None  # it was waited for
        inside = Store(place)
        [(split, entries)] = scored.result.scores.items()
        predictions = inside.predictions(meta, name)
        for entry in entries:
            subset = entry["hf_subset"]
            kept = scored.predictions[subset]
            revision = scored.stamp.dataset_revision
            write_predictions(predictions, meta, revision, split, subset, kept)
        ResultCache(place).save_to_cache(scored.result, meta)
        replace(
            scored.stamp,
            result_sha256=file_sha256(inside.result(meta, name)),
            predictions_sha256=file_sha256(predictions),
        ).write(inside.stamp(meta, name))
        store.finish(place, meta, name)


def _check_names(name: str, revision: str | None) -> None:
    if not _NAME.fullmatch(name):
        raise DataError(
            f"{name!r} cannot name a system. Give an organisation and a system, as ORG/SYSTEM, of "
            "letters, digits, dots, hyphens and underscores."
        )
    if revision is not None and not _REVISION.fullmatch(revision):
        raise DataError(
            f"{revision!r} cannot be a revision. Use letters, digits, dots, hyphens, underscores."
        )


def _loaded(name: str, split: str | None) -> PaperTask:
    """A task with the data of one split."""
    known = paper_task(name)
    splits = [split] if split is not None else known.metadata.eval_splits
    if split is not None and split not in known.splits():
        raise DataError(
            f"{name} has no split {split!r}; it has {', '.join(known.splits())}."
            f"{did_you_mean(split, known.splits())}"
        )
    if len(splits) > 1:
        raise DataError(f"{name} is evaluated on {', '.join(splits)}. Say which with --split.")
    task = cast("PaperTask", find_task(name, eval_splits=list(splits)))
    task.load_data()
    return task


def _check_subsets(task: PaperTask, split: str, subsets: Sequence[str]) -> None:
    there = task.subsets(split)
    for subset in subsets:
        if subset not in there:
            raise DataError(
                f"{task.metadata.name} has no subset {subset!r} in {split}; it has "
                f"{', '.join(there)}.{did_you_mean(subset, there)}"
            )


def _read(
    given: object, split: str, subsets: Sequence[str], form: str | None
) -> list[tuple[Outputs, str | None]]:
    """What was given, each with the subset that it is said to be of."""
    paths = _paths(given)
    n = len(paths) or 1
    if subsets and len(subsets) != n:
        raise DataError(f"{len(subsets)} subsets are named for {n} files. Name one for each file.")
    parts = [read_outputs(read_text(path), split, form) for path in paths] or [outputs_of(given)]
    named: Sequence[str | None] = subsets or [None] * n
    return list(zip(parts, named, strict=True))


def _paths(given: object) -> list[Path]:
    """The paths that were given; none where something else was."""
    listed = given if isinstance(given, (list, tuple)) else [given]
    paths = [Path(path) for path in listed if isinstance(path, (str, Path))]
    return paths if len(paths) == len(listed) else []


def _match(
    task: PaperTask, split: str, outputs: Outputs, subset: str | None, ids: Ids, *, fill: bool
) -> Matched:
    if isinstance(task, PaperRanking):
        return match_rankings(task, split, outputs, ids, fill=fill)
    if fill:
        raise DataError(
            f"{task.metadata.name} has pairs, of which none may be without a score. --missing is "
            "for rankings that were cut."
        )
    return match_pairs(cast("PaperSTS", task), split, outputs, subset)


def _joined(parts: Sequence[Matched]) -> Matched:
    """The outputs of several files, each of subsets of its own."""
    predictions: dict[str, object] = {}
    for part in parts:
        if twice := predictions.keys() & part.predictions.keys():
            raise DataError(f"several files have scores of {', '.join(sorted(twice))}. Name one.")
        predictions |= part.predictions
    remarks = [remark for part in parts for remark in part.remarks]
    return Matched(predictions, sum(part.n_missing for part in parts), remarks)


def _supplied(parts: Sequence[Outputs], matched: Matched) -> tuple[list[SuppliedFile], str]:
    """What was supplied, and the sha256 of all of it."""
    if parts[0].origin == GIVEN:
        digest = hashlib.sha256(json.dumps(matched.predictions).encode()).hexdigest()
        return [SuppliedFile(GIVEN, digest)], digest
    paths = [Path(outputs.origin) for outputs in parts]
    files = [SuppliedFile(path.name, sha256_of(path)) for path in paths]
    if len(files) == 1:
        return files, files[0].sha256
    together = " ".join(file.sha256 for file in files)
    return files, hashlib.sha256(together.encode()).hexdigest()


def _meta(name: str, revision: str) -> ModelMeta:
    from mteb.models import ModelMeta

    return ModelMeta.create_empty({"name": name, "revision": revision})


def _result(task: PaperTask, split: str, matched: Matched, started: float) -> TaskResult:
    """The result that a run would have made of the same scores."""
    from mteb.results import TaskResult

    in_order = [subset for subset in task.subsets(split) if subset in matched.predictions]
    found = {
        subset: rescore(task, split, subset, matched.predictions[subset]) for subset in in_order
    }
    scores = {subset: dict(rescored.scores) for subset, rescored in found.items()}
    if len(found) == len(task.subsets(split)):
        scores[in_order[-1]] |= headline_interval(task, list(found.values()))
    if matched.n_missing:
        scores[in_order[-1]][N_MISSING] = matched.n_missing
    return TaskResult.from_task_results(task, {split: scores}, time.monotonic() - started)


def _check_free(store: Store, scored: Scored) -> None:
    """See that nothing else is overwritten: the same outputs may be scored again."""
    meta, name = scored.meta, scored.stamp.task
    path = store.result(meta, name)
    if not path.exists():
        return
    try:
        held = read_stamp(store.stamp(meta, name)).supplied
    except DataError:
        held = None
    if held != scored.stamp.supplied:
        raise DataError(
            f"{path} is a result of {meta.name}, revision {meta.revision}, of other outputs or of "
            "a run. Give another --name or --revision, or another --output-folder."
        )
