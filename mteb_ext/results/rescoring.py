"""The scores of kept predictions, computed again by the task that they are of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mteb_ext.bases import PaperTask
from mteb_ext.errors import DataError, UndefinedMetricError
from mteb_ext.metrics.significance import mean_correlation_interval
from mteb_ext.protocol import CorrelationProtocol
from mteb_ext.results.gold import PairGold, load_gold
from mteb_ext.results.reading import MAIN_SCORE

if TYPE_CHECKING:
    from numpy.typing import NDArray

HEADLINE_INTERVAL = ("headline_ci95_low", "headline_ci95_high")
"""Keys of the interval of a mean over subsets, in one subset's entry."""
_SIMILARITIES = ("cosine_scores", "similarity_scores")


@dataclass(frozen=True)
class Rescored:
    """What kept predictions of a subset give.

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
            raise DataError(f"it holds {' and '.join(names) or 'no scores of pairs'}.")
        similarity = gold.similarities(predicted, str(task.metadata.main_score))
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
