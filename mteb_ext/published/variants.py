"""The protocol variants that published numbers follow, and the papers that print them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mteb_ext.errors import ProtocolError

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
    """

    id: str
    rule: str
    subsets: Mapping[str, tuple[str, ...]]


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
        "clean-243",
        "Mean over the 243 test questions with at least one correct answer.",
        {"WikiQA": _SINGLE},
    ),
    Variant(
        "both-237",
        "Mean over the 237 test questions with both a correct and an incorrect answer, equal "
        "scores in trec_eval's order.",
        {"WikiQA": _SINGLE},
    ),
    Variant(
        "clean-68",
        "Mean over the 68 test questions with both a correct and an incorrect answer.",
        {"TRECQA": _SINGLE},
    ),
    Variant(
        "raw-95",
        "Mean over the 95 test questions with candidates, those with no correct answer included.",
        {"TRECQA": _SINGLE},
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
    ),
)

VARIANTS: Mapping[str, Variant] = {variant.id: variant for variant in _VARIANTS}
"""Every variant by its id."""

TASKS: tuple[str, ...] = tuple(dict.fromkeys(task for v in _VARIANTS for task in v.subsets))
"""The tasks that this package knows published variants of."""

SOURCES: Mapping[str, str] = {
    "bojar2017metrics": "Bojar, Graham and Kamran (2017), Results of the WMT17 Metrics Shared "
    "Task, WMT 2017, W17-4755",
    "cer2017semeval": "Cer, Diab, Agirre, Lopez-Gazpio and Specia (2017), SemEval-2017 Task 1: "
    "Semantic Textual Similarity Multilingual and Crosslingual Focused Evaluation, "
    "SemEval 2017, S17-2001",
    "garg2019tanda": "Garg, Vu and Moschitti (2019), TANDA: Transfer and Adapt Pre-Trained "
    "Transformer Models for Answer Sentence Selection, arXiv:1911.04118",
    "yang2015wikiqa": "Yang, Yih and Meek (2015), WikiQA: A Challenge Dataset for Open-Domain "
    "Question Answering, EMNLP 2015, D15-1237",
}
"""The papers behind the `source` column, by citation key."""


def check_task(task: str) -> None:
    """Refuse a task without published variants.

    Raises:
        ProtocolError: The task is not in `TASKS`.
    """
    if task not in TASKS:
        known = ", ".join(TASKS)
        raise ProtocolError(f"no published variants are known for task {task!r}; known: {known}")


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
    if variant not in known:
        owner = f"task {task}" if task else "any task"
        raise ProtocolError(
            f"{variant!r} is not a published variant of {owner}; known: {', '.join(known)}"
        )
    return VARIANTS[variant]
