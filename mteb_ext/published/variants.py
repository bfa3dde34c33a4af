"""The protocol variants that published numbers follow, and our measures that follow them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from mteb_ext.errors import ProtocolError
from mteb_ext.measures import Measure, TieOrder
from mteb_ext.names import did_you_mean

_STS17_TRACKS = ("1-ar-ar", "2-ar-en", "3-es-es", "4a-es-en", "4b-es-en", "5-en-en")
_WMT17_PAIRS = ("cs-en", "de-en", "fi-en", "lv-en", "ru-en", "tr-en", "zh-en")
_SINGLE = ("default",)
_HEADLINE = ("",)


@dataclass(frozen=True, slots=True)
class Variant:
    """One way of computing a score: numbers are comparable within a variant only.

    Attributes:
        id: The short, stable name that the tables and the comparisons carry.
        rule: What the variant computes, in one sentence.
        subsets: For each task that has the variant, the subsets that a number of it can belong
            to; the empty subset is the task's headline.
        measures: What of our results follows the variant, by the metric's name in the tables.
        mean_of: The subsets that a headline is the mean of; none where they are not all of one
            task, so that no result of ours follows it.
    """

    id: str
    rule: str
    subsets: Mapping[str, tuple[str, ...]]
    measures: Mapping[str, Measure] = field(default_factory=lambda: {"pearson": Measure("pearson")})
    mean_of: tuple[str, ...] = ()


def _rankings(part: str = "", ties: TieOrder = "expected") -> dict[str, Measure]:
    return {
        "map": Measure("map", part=part, ties=ties),
        "mrr": Measure("mrr", part=part, ties=ties),
    }


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
        measures=_rankings(),
    ),
    Variant(
        "clean-237",
        "Mean over the 237 test questions with both a correct and an incorrect answer; of equal "
        "scores the later sentence first, as trec_eval orders names that sort like the places.",
        {"WikiQA": _SINGLE},
        measures=_rankings("both", "later_first"),
    ),
    Variant(
        "clean-68",
        "Mean over the 68 test questions with both a correct and an incorrect answer, on the files "
        "that TANDA used.",
        {"TRECQA": _SINGLE},
        measures=_rankings(),
    ),
    Variant(
        "raw-95",
        "Mean over the 95 test questions with candidates, those with no correct answer included.",
        {"TRECQA": _SINGLE},
        measures=_rankings("raw"),
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

TASKS: tuple[str, ...] = tuple(dict.fromkeys(name for v in _VARIANTS for name in v.subsets))
"""The tasks that published numbers can belong to."""


def variants_of(task: str) -> list[Variant]:
    """The variants that numbers of a task can follow."""
    return [variant for variant in _VARIANTS if task in variant.subsets]


def find_variant(variant: str, task: str | None = None) -> Variant:
    """Look a variant up by its id.

    Args:
        variant: The id.
        task: Accept only a variant of this task.

    Raises:
        ProtocolError: There is no such variant, or the task does not have it.
    """
    known = list(VARIANTS) if task is None else [v.id for v in variants_of(task)]
    if not isinstance(variant, str) or variant not in known:
        owner = f"task {task}" if task else "any task"
        raise ProtocolError(
            f"{variant!r} is not a published variant of {owner}; {_offer(str(variant), known)}"
        )
    return VARIANTS[variant]


def _offer(name: str, known: Iterable[str]) -> str:
    names = list(known)
    return f"known: {', '.join(names) or 'none'}.{did_you_mean(name, names)}"
