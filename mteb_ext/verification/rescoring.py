"""The scores of kept predictions, computed again by the task that they are of."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from mteb_ext.analysis.cells import load_data
from mteb_ext.analysis.gold import PairGold, load_gold
from mteb_ext.analysis.predictions import read_file
from mteb_ext.analysis.reading import MAIN_SCORE, brief
from mteb_ext.bases import PaperTask
from mteb_ext.errors import DataError, MtebExtError, UndefinedMetricError
from mteb_ext.formats.layout import STAMP
from mteb_ext.measures import Measure
from mteb_ext.metrics.significance import mean_correlation_interval
from mteb_ext.plugin.lookup import find_task
from mteb_ext.protocol import CorrelationProtocol
from mteb_ext.verification.findings import Finding
from mteb_ext.verification.inventory import FoundResult, KeptPredictions, entries

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

TOLERANCE = 0.5e-6 + 1e-9  # of scores that mteb rounds to six decimals when it writes them
HEADLINE_INTERVAL = ("headline_ci95_low", "headline_ci95_high")
"""Keys of the interval of a mean over subsets, in one subset's entry."""
N_MISSING = "n_missing"
"""The result key of how many candidates had no score in supplied outputs, and got the lowest."""
NOT_SCORES = frozenset({"hf_subset", "languages", "declared_similarity", "quantised"})
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


class Data:
    """The data of one task, by split, loaded when it is first asked for."""

    def __init__(self) -> None:
        self._loaded: dict[str, PaperTask | MtebExtError] = {}

    def load(self, name: str, split: str) -> PaperTask:
        """The task with the data of a split.

        Raises:
            MtebExtError: If it cannot be loaded.
        """
        if split not in self._loaded:
            self._loaded[split] = _load(name, split)
        found = self._loaded[split]
        if isinstance(found, MtebExtError):
            raise found
        return found


def _load(name: str, split: str) -> PaperTask | MtebExtError:
    try:
        task = find_task(name, eval_splits=[split])
        load_data(task)
    except MtebExtError as error:
        return error
    return cast("PaperTask", task)


class Recomputation:
    """The scores of a result beside those of a prediction file."""

    def __init__(self, result: FoundResult, file: KeptPredictions, data: Data) -> None:
        """Prepare; nothing is computed.

        Args:
            result: The result, of a task of this package or on one of its bases.
            file: A prediction file of the same model and task.
            data: The task's data.
        """
        self._result = result
        self._file = file
        self._data = data
        self._compared: set[tuple[str, str]] = set()

    def findings(self) -> Generator[Finding, None, bool]:
        """Compare; return whether the scores of every entry were computed again."""
        result, file = self._result, self._file
        if file.dataset_revision != result.file.dataset_revision:
            yield self._of_file(
                "other-data",
                f"these predictions are on the dataset revision {file.dataset_revision}, and the "
                f"result on {result.file.dataset_revision}.",
            )
            return False
        if result.stamp and result.stamp.predictions_sha256 not in {None, file.sha256}:
            yield changed_predictions(result, file.path)
        scores = read_file(file.path).scores
        for split in result.file.scores:
            yield from self._split(split, {s: by.get(split) for s, by in scores.items()})
        return self._compared == {(split, subset) for split, subset, _ in entries(result.file)}

    def _of_file(self, code: str, reason: str) -> Finding:
        return self._result.finding(code, reason, self._result.run_again, self._file.path)

    def _split(self, split: str, predicted: Mapping[str, object]) -> Iterator[Finding]:
        result = self._result
        known = cast("PaperTask", result.task)
        if split not in known.splits():
            return
        try:
            task = self._data.load(result.file.task, split)
        except MtebExtError as error:
            yield result.finding(
                "no-data",
                f"not verifiable here: {error}",
                "Get the data ('mteb-ext fetch', or MTEB_EXT_DATA), and verify again.",
            )
            return
        yield from self._fingerprints(task, split)
        if task.metadata.revision != result.file.dataset_revision:
            yield result.finding(
                "no-data",
                f"not verifiable here: the data here is of the revision {task.metadata.revision}.",
                "Put the data of the result there, and verify again.",
            )
            return
        there = {entry["hf_subset"]: entry for entry in result.file.scores[split]}
        found: dict[str, Rescored] = {}
        for subset in task.subsets(split):
            if subset in there:
                yield from self._subset(task, split, subset, predicted.get(subset), found)
        whole = len(found) == len(task.subsets(split))  # else the mean has no interval to compare
        interval = headline_interval(task, [*found.values()]) if whole else {}
        for subset, rescored in found.items():
            self._compared.add((split, subset))
            yield from self._compare(split, subset, there[subset], rescored.scores, interval)

    def _fingerprints(self, task: PaperTask, split: str) -> Iterator[Finding]:
        stamped = self._result.stamp.data_fingerprints if self._result.stamp else {}
        for name, fingerprint in task.fingerprints.items():
            if stamped.get(name, fingerprint) != fingerprint:
                yield self._result.finding(
                    "other-data",
                    f"its run read other data of {name} than there is now.",
                    self._result.run_again,
                )

    def _subset(
        self,
        task: PaperTask,
        split: str,
        subset: str,
        predicted: object,
        found: dict[str, Rescored],
    ) -> Iterator[Finding]:
        where = f"{split}, {subset}"
        try:
            if predicted is None:
                yield self._of_file("no-predictions", f"not verifiable: it holds none of {where}.")
            else:
                found[subset] = rescore(task, split, subset, predicted)
        except MtebExtError as error:
            reason = f"its scores of {where} do not fit the data: {error}"
            yield self._of_file("unfit-predictions", reason)

    def _compare(
        self,
        split: str,
        subset: str,
        entry: Mapping[str, Any],
        scores: Mapping[str, Any],
        interval: Mapping[str, float],
    ) -> Iterator[Finding]:
        """One entry of the result beside what its predictions give."""
        result, where = self._result, f"{split}, {subset}"
        expected = {**scores, **{k: v for k, v in interval.items() if k in entry}}
        wrong = [
            f"{name} is {brief(entry[name])} and comes out as {value:.6f}"
            for name, value in expected.items()
            if name in entry and not _agree(entry[name], value)
        ]
        if wrong:
            more = f", and {len(wrong) - _SHOWN} more" if len(wrong) > _SHOWN else ""
            yield result.finding(
                "changed-score",
                f"{'; '.join(wrong[:_SHOWN])}{more} ({where}), from {self._file.path}. The scores "
                "or the predictions were changed.",
                result.run_again,
            )
        others = {*expected, *NOT_SCORES, *((N_MISSING,) if result.supplied else ())}
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
        f"its sha256 is not the one that {result.file.task}{STAMP} names: it was changed after "
        "the run, or is of another one.",
        result.run_again,
        path,
    )
