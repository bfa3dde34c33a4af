"""The protocol variants that published numbers follow, and our result keys that follow them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from mteb_ext.errors import DataError, ProtocolError
from mteb_ext.names import did_you_mean

_STS17_TRACKS = ("1-ar-ar", "2-ar-en", "3-es-es", "4a-es-en", "4b-es-en", "5-en-en")
_WMT17_PAIRS = ("cs-en", "de-en", "fi-en", "lv-en", "ru-en", "tr-en", "zh-en")
_SINGLE = ("default",)
_HEADLINE = ("",)

Scores = Mapping[tuple[str, str], float]
"""Values on the 0-1 scale by (subset, metric); the empty subset is a mean over subsets."""


@dataclass(frozen=True, slots=True)
class Variant:
    """One way of computing a score: numbers are comparable within a variant only.

    Attributes:
        id: The short, stable name that the tables and the comparisons carry.
        rule: What the variant computes, in one sentence.
        subsets: For each task that has the variant, the subsets that a number of it can belong
            to; the empty subset is the task's headline.
        keys: The key of our results that follows the variant, by the metric's name in the tables.
        mean_of: The subsets that a headline is the mean of; none where they are not all of one
            task, so that no result of ours follows it.
    """

    id: str
    rule: str
    subsets: Mapping[str, tuple[str, ...]]
    keys: Mapping[str, str] = field(default_factory=lambda: {"pearson": "pearson"})
    mean_of: tuple[str, ...] = ()


_VARIANTS = (
    Variant(
        "per-track",
        "Pearson correlation with the gold scores over the 250 pairs of one track, as printed.",
        {"STS17SemEval": _STS17_TRACKS, "STS17SemEvalTurkish": _SINGLE},
    ),
    Variant(
        "mean-of-6",
        "Mean of tracks 1, 2, 3, 4a, 4b and 5, Turkish left out: Primary as the paper defines it.",
        {"STS17SemEval": _HEADLINE},
        mean_of=_STS17_TRACKS,
    ),
    Variant(
        "printed-mean-of-7",
        "Mean of all seven tracks, Turkish included: what Table 10 prints in its Primary column.",
        {"STS17SemEval": _HEADLINE},
    ),
    Variant(
        "official-split",
        "Pearson correlation with the gold scores over a whole official split.",
        {"STSBenchmarkSemEval": _SINGLE},
    ),
    Variant(
        "no-all-negative-243",
        "Mean over the 243 test questions with at least one correct answer.",
        {"WikiQA": _SINGLE},
        keys={"map": "map", "mrr": "mrr"},
    ),
    Variant(
        "clean-237",
        "Mean over the 237 test questions with both a correct and an incorrect answer; of equal "
        "scores the later sentence first, as trec_eval orders names that sort like the places.",
        {"WikiQA": _SINGLE},
        keys={"map": "map_both_later_first", "mrr": "mrr_both_later_first"},
    ),
    Variant(
        "clean-68",
        "Mean over the 68 test questions with both a correct and an incorrect answer, on the files "
        "that TANDA used.",
        {"TRECQA": _SINGLE},
        keys={"map": "map", "mrr": "mrr"},
    ),
    Variant(
        "raw-95",
        "Mean over the 95 test questions with candidates, those with no correct answer included.",
        {"TRECQA": _SINGLE},
        keys={"map": "map_raw", "mrr": "mrr_raw"},
    ),
    Variant(
        "per-pair",
        "Pearson correlation with Direct Assessment over the 560 segments of one language pair.",
        {"WMT17Metrics": _WMT17_PAIRS},
    ),
    Variant(
        "mean-of-7-pairs",
        "Mean of the seven to-English language pairs' Pearson correlations.",
        {"WMT17Metrics": _HEADLINE},
        mean_of=_WMT17_PAIRS,
    ),
)

VARIANTS: Mapping[str, Variant] = {variant.id: variant for variant in _VARIANTS}
"""Every variant by its id."""

WITHOUT_VARIANTS = ("JACSTS", "QABot", "TRECQAUnmasked", "WMT17MetricsQE")
"""Tasks of which no published number is known here.

The figures of arXiv 2503.09094 are not at hand, TANDA did not use the text of TRECQAUnmasked, and
the metrics of WMT17 compare a translation with its reference, not with its source.
"""
TASKS: tuple[str, ...] = (
    *dict.fromkeys(task for variant in _VARIANTS for task in variant.subsets),
    *WITHOUT_VARIANTS,
)
"""The package's tasks."""


def check_task(task: str) -> None:
    """Refuse a name that is not one of the package's tasks.

    Raises:
        ProtocolError: The task is not in `TASKS`.
    """
    if not isinstance(task, str) or task not in TASKS:
        raise ProtocolError(f"{task!r} is not a task of mteb_ext; {_offer(str(task), TASKS)}")


def find_variant(variant: str, task: str | None = None) -> Variant:
    """Look a variant up by its id.

    Args:
        variant: The id.
        task: Accept only a variant of this task.

    Raises:
        ProtocolError: There is no such variant, or the task does not have it.
    """
    if task is not None:
        check_task(task)
    known = [v.id for v in _VARIANTS if task is None or task in v.subsets]
    if not isinstance(variant, str) or variant not in known:
        owner = f"task {task}" if task else "any task"
        raise ProtocolError(
            f"{variant!r} is not a published variant of {owner}; {_offer(str(variant), known)}"
        )
    return VARIANTS[variant]


def _offer(name: str, known: Iterable[str]) -> str:
    names = list(known)
    return f"known: {', '.join(names) or 'none'}.{did_you_mean(name, names)}"


def scores_by_variant(
    task: str, entries: Iterable[Mapping[str, Any]]
) -> Iterator[tuple[str, Scores]]:
    """Pick the scores of a result that follow a published variant.

    Args:
        task: The task's name.
        entries: What a result holds for the test split: one mapping a subset, from ``hf_subset``
            and the result keys to their values.

    Yields:
        The variant's id, and the scores by subset and metric. A mean over subsets is there only if
        all of them are.

    Raises:
        DataError: An entry lacks a key that the variant follows.
    """
    by_subset = {entry["hf_subset"]: entry for entry in entries}
    for variant in _VARIANTS:
        scores = {}
        for subset in variant.subsets.get(task, ()):
            parts = variant.mean_of or (subset,)
            if by_subset.keys() >= set(parts):
                for metric, key in variant.keys.items():
                    values = [_score(task, by_subset[part], key) for part in parts]
                    scores[subset, metric] = fmean(values)
        if scores:
            yield variant.id, scores


def _score(task: str, entry: Mapping[str, Any], key: str) -> float:
    try:
        return float(entry[key])
    except KeyError:
        raise DataError(
            f"a result of {task}, subset {entry['hf_subset']!r}, has no {key!r}: run it again"
        ) from None
