"""The scores of kept predictions, computed again by the task that they are of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from mteb_ext.analysis.folder import ResultsFolder
from mteb_ext.analysis.gold import PairGold, load_gold
from mteb_ext.analysis.reading import MAIN_SCORE
from mteb_ext.bases import PaperTask
from mteb_ext.errors import DataError, MtebExtError, UndefinedMetricError
from mteb_ext.formats.layout import STAMP
from mteb_ext.formats.predictions import Predictions
from mteb_ext.json_files import brief
from mteb_ext.measures import Measure
from mteb_ext.metrics.significance import mean_correlation_interval
from mteb_ext.protocol import CorrelationProtocol
from mteb_ext.verification.findings import Finding
from mteb_ext.verification.inventory import FoundResult

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

TOLERANCE = 0.5e-6 + 1e-9  # of scores that mteb rounds to six decimals when it writes them
HEADLINE_INTERVAL = ("headline_ci95_low", "headline_ci95_high")
"""Keys of the interval of a mean over subsets, in one subset's entry."""
N_MISSING = "n_missing"
"""The result key of how many candidates had no score in supplied outputs, and got the lowest."""
NOT_SCORES = frozenset(
    {"hf_subset", "languages", "mteb_version", "declared_similarity", "quantised"}
)
"""Keys of an entry that hold no score, and are not computed again."""
_SHOWN = 3  # of scores that differ
_SIMILARITIES = ("cosine_scores", "similarity_scores")


@dataclass(frozen=True)
class Rescored:
    """The scores of a subset, computed from kept predictions.

    Attributes:
        scores: By key, as a result file has them before mteb rounds.
        pairs: Similarities and gold scores of an STS task; None of a ranking.
    """

    scores: Mapping[str, Any]
    pairs: tuple[NDArray[Any], NDArray[Any]] | None


def rescore(task: PaperTask, split: str, subset: str, predicted: object) -> Rescored:
    """Compute the scores of a subset again.

    Args:
        task: The task; its data is loaded.
        split: The split.
        subset: The subset.
        predicted: The prediction file's part of this split and subset.

    Raises:
        DataError: If the predictions do not fit the data.
        UndefinedMetricError: If no score is defined for them.
    """
    gold = load_gold(task, split, subset)
    pairs = None
    if isinstance(gold, PairGold):
        names = [
            name for name in _SIMILARITIES if isinstance(predicted, dict) and name in predicted
        ]
        if len(names) != 1:
            raise DataError(f"the file holds {' and '.join(names) or 'no scores of pairs'}.")
        similarity = gold.similarities(predicted, Measure.parse(str(task.metadata.main_score)))
        predicted, pairs = {names[0]: similarity}, (similarity, gold.score)
    else:
        gold.lists(predicted)  # sees that they are whole
    scores = task.rescore(split, subset, predicted)
    return Rescored({**scores, MAIN_SCORE: scores[str(task.metadata.main_score)]}, pairs)


def headline_interval(task: PaperTask, subsets: Sequence[Rescored]) -> dict[str, float]:
    """The interval of the mean over subsets; nothing where it is undefined, or over rankings.

    Args:
        task: The task.
        subsets: All its subsets in a split.
    """
    pairs = [subset.pairs for subset in subsets if subset.pairs is not None]
    if not isinstance(task.protocol, CorrelationProtocol) or len(pairs) < 2:
        return {}
    try:
        interval = mean_correlation_interval(pairs, task.protocol.headline)
    except UndefinedMetricError:
        return {}
    return dict(zip(HEADLINE_INTERVAL, interval, strict=True))


@dataclass(frozen=True)
class Recomputed:
    """A result beside what a prediction file gives.

    Attributes:
        findings: What differs.
        whole: Whether the scores of every entry were computed again.
    """

    findings: Sequence[Finding]
    whole: bool


def recompute(folder: ResultsFolder, result: FoundResult, file: Predictions) -> Recomputed:
    """Compute the scores of a result again, and compare.

    Args:
        folder: What both were read from.
        result: The result, of a task of this package or on one of its bases.
        file: A prediction file of the same model and task.
    """
    if file.dataset_revision != result.file.dataset_revision:
        reason = (
            f"these predictions are on the dataset revision {file.dataset_revision}, and the "
            f"result on {result.file.dataset_revision}."
        )
        return Recomputed([_of_file(result, file, "other-data", reason)], whole=False)
    stamped = result.stamp and result.stamp.predictions_sha256
    findings = []
    if stamped not in {None, folder.sha256(file.path)}:
        findings.append(changed_predictions(result, file.path))
    splits = [_split(folder, result, file, split) for split in result.file.scores]
    findings += [finding for split in splits for finding in split.findings]
    return Recomputed(findings, all(split.whole for split in splits))


def _of_file(result: FoundResult, file: Predictions, code: str, reason: str) -> Finding:
    return result.finding(code, reason, result.run_again, file.path)


def _split(folder: ResultsFolder, result: FoundResult, file: Predictions, split: str) -> Recomputed:
    known = cast("PaperTask", result.task)
    if split not in known.splits():
        return Recomputed([], whole=False)
    try:
        task = cast("PaperTask", folder.data(result.file.task, split))
    except MtebExtError as error:
        remedy = "Get the data ('mteb-ext fetch', or MTEB_EXT_DATA), and verify again."
        finding = result.finding("no-data", f"not verifiable here: {error}", remedy)
        return Recomputed([finding], whole=False)
    findings = [*_fingerprints(result, task)]
    if task.metadata.revision != result.file.dataset_revision:
        reason = f"not verifiable here: the data here is of the revision {task.metadata.revision}."
        remedy = "Put the data of the result there, and verify again."
        return Recomputed([*findings, result.finding("no-data", reason, remedy)], whole=False)
    stated = {entry["hf_subset"]: entry for entry in result.file.scores[split]}
    found: dict[str, Rescored] = {}
    for subset in task.subsets(split):
        if subset in stated:
            try:
                predicted = file.scores.get(subset, {}).get(split)
                found[subset] = _rescored(task, split, subset, predicted)
            except _MissingError as error:
                findings.append(_of_file(result, file, "no-predictions", str(error)))
            except MtebExtError as error:
                reason = f"its scores of {split}, {subset} do not fit the data: {error}"
                findings.append(_of_file(result, file, "unfit-predictions", reason))
    complete = len(found) == len(task.subsets(split))  # else the mean has no interval to compare
    interval = headline_interval(task, [*found.values()]) if complete else {}
    for subset, rescored in found.items():
        expected = {
            **rescored.scores,
            **{key: end for key, end in interval.items() if key in stated[subset]},
        }
        where = f"{split}, {subset}"
        findings += _compare(result, file, where, stated[subset], expected, whole=complete)
    return Recomputed(findings, whole=set(found) == set(stated))


class _MissingError(MtebExtError):
    """A prediction file lacks a subset."""


def _rescored(task: PaperTask, split: str, subset: str, predicted: object) -> Rescored:
    if predicted is None:
        raise _MissingError(f"not verifiable: the file holds nothing of {split}, {subset}.")
    return rescore(task, split, subset, predicted)


def _fingerprints(result: FoundResult, task: PaperTask) -> Iterator[Finding]:
    stamped = result.stamp.data_fingerprints if result.stamp else {}
    for name, fingerprint in task.fingerprints.items():
        if stamped.get(name, fingerprint) != fingerprint:
            reason = f"its run read other data of {name} than there is now."
            yield result.finding("other-data", reason, result.run_again)


def _compare(
    result: FoundResult,
    file: Predictions,
    where: str,
    entry: Mapping[str, Any],
    expected: Mapping[str, Any],
    *,
    whole: bool,
) -> Iterator[Finding]:
    """One entry of the result beside what its predictions give, of the whole split or of a part."""
    wrong = [
        f"{name} is {brief(entry[name])} and comes out as {value:.6f}"
        for name, value in expected.items()
        if name in entry and not _agree(entry[name], value)
    ]
    if wrong:
        more = f", and {len(wrong) - _SHOWN} more" if len(wrong) > _SHOWN else ""
        yield result.finding(
            "changed-score",
            f"{'; '.join(wrong[:_SHOWN])}{more} ({where}), from {file.path}. The scores or the "
            "predictions were changed.",
            result.run_again,
        )
    others = {*expected, *NOT_SCORES, *((N_MISSING,) if result.supplied else ())}
    if not whole:  # the interval of a mean over subsets could not be computed again
        others |= {*HEADLINE_INTERVAL}
    if unknown := sorted(set(entry) - others):
        reason = f"{', '.join(map(brief, unknown))} of {where} is not a score of the task."
        yield result.finding("unknown-score", reason, result.run_again)
    if missing := sorted(set(expected) - set(entry)):
        reason = f"{', '.join(missing)} of {where} is missing: the task had no such score then."
        yield result.finding("missing-score", reason, result.run_again)


def _agree(stated: object, computed: float) -> bool:
    return isinstance(stated, float) and abs(stated - computed) <= TOLERANCE


def changed_predictions(result: FoundResult, path: Path) -> Finding:
    """The finding that a prediction file is not the one that the stamp names."""
    return result.finding(
        "changed-predictions",
        f"was changed after the run, or is of another run: {result.file.task}{STAMP} names "
        "another sha256.",
        result.run_again,
        path,
    )
