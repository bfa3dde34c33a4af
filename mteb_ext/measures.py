"""Measures: what a number in a result file is a value of.

A result key names a measure in one line: ``map``, ``ndcg_at_10``, ``map_both_trec_eval``,
``cosine_spearman``, ``spearman_3482``. This module is the only place that reads or writes such
keys. In order, a key holds:

- the similarity of pairs, where it is not the model's own: ``cosine_``;
- the metric: ``spearman``;
- the cut-off of a ranking metric: ``_at_10``;
- the name of a question set, or of a part of the pairs: ``_both``;
- the order of equal scores, where it is not the expected value over all orders: ``_trec_eval``.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from mteb_ext.errors import ProtocolError
from mteb_ext.names import did_you_mean

__all__ = ["Coefficient", "Measure", "RankingMetric", "TieOrder", "check_set_name"]

Coefficient: TypeAlias = Literal["pearson", "spearman"]
RankingMetric: TypeAlias = Literal["map", "mrr", "ndcg", "precision", "recall", "hit_rate"]
Similarity: TypeAlias = Literal["", "cosine", "manhattan", "euclidean"]
TieOrder: TypeAlias = Literal["expected", "trec_eval", "later_first", "best", "worst"]
"""The orders of equal scores.

``expected`` is the mean over all orders. ``trec_eval`` sorts them by document name, the greater one
first; ``later_first`` by their places in the dataset's file, the later one first. Both compare the
scores as float32, which is how trec_eval stores them. ``best`` and ``worst`` put the relevant
documents first and last.
"""

_NEEDS_CUTOFF = frozenset({"precision", "recall", "hit_rate"})
_ORDERS = "|".join(get_args(TieOrder)[1:])
_SIMILARITIES = "|".join(get_args(Similarity)[1:])
_RESERVED = re.compile(rf"at_[1-9][0-9]*(_.*)?|(.*_)?({_ORDERS})", re.DOTALL)
_EXAMPLES = (
    *("map", "mrr", "ndcg", "map_at_10", "mrr_at_10", "ndcg_at_10", "precision_at_1"),
    *("precision_at_5", "precision_at_10", "recall_at_10", "recall_at_100", "hit_rate_at_10"),
    *("map_trec_eval", "mrr_trec_eval", "map_later_first", "map_best", "map_worst"),
    *(f"{prefix}{name}" for prefix in ("", "cosine_") for name in get_args(Coefficient)),
    *(
        f"{prefix}_{name}"
        for prefix in ("manhattan", "euclidean")
        for name in get_args(Coefficient)
    ),
)


@dataclass(frozen=True)
class Measure:
    """A metric with all that its value depends on; ``str`` gives its result key.

    Attributes:
        metric: The metric: a coefficient of correlation, or a ranking metric.
        cutoff: The deepest rank that counts; None is the whole list.
        part: The question set, or the part of the pairs, behind the value; empty for the one
            behind the task's headline.
        ties: The order of equal scores in a ranking.
        similarity: The similarity of pairs; empty for the model's own.

    Raises:
        ProtocolError: If there is no such measure: precision without a cut-off, a correlation with
            one.

    Example:
        >>> Measure.parse("map_both_trec_eval", ["both"])
        Measure(metric='map', cutoff=None, part='both', ties='trec_eval', similarity='')
        >>> str(Measure("precision", cutoff=5))
        'precision_at_5'
    """

    metric: Coefficient | RankingMetric
    cutoff: int | None = None
    part: str = ""
    ties: TieOrder = "expected"
    similarity: Similarity = ""

    def __post_init__(self) -> None:
        if self.is_correlation:
            exists = self.cutoff is None and self.ties == "expected"
        else:
            missing = self.cutoff is None and self.metric in _NEEDS_CUTOFF
            too_small = self.cutoff is not None and self.cutoff < 1
            exists = not (missing or too_small or self.similarity)
        if not exists:
            raise ProtocolError(f"there is no measure {self}.{did_you_mean(str(self), _EXAMPLES)}")

    @property
    def is_correlation(self) -> bool:
        """Whether it is a correlation over pairs, and not a mean over queries."""
        return self.metric in get_args(Coefficient)

    @property
    def coefficient(self) -> Coefficient:
        """The coefficient of a correlation.

        Raises:
            ProtocolError: If it is a ranking metric.
        """
        if self.metric == "pearson" or self.metric == "spearman":  # noqa: PLR1714 - mypy narrows
            return self.metric
        raise ProtocolError(f"{self} is not a correlation.{did_you_mean(str(self), _EXAMPLES)}")

    @property
    def count_key(self) -> str:
        """The result key of the number of queries that the value is over."""
        return "num_queries" + self._part_suffix

    @property
    def _part_suffix(self) -> str:
        return f"_{self.part}" if self.part else ""

    def __str__(self) -> str:
        prefix = f"{self.similarity}_" if self.similarity else ""
        cutoff = "" if self.cutoff is None else f"_at_{self.cutoff}"
        ties = "" if self.ties == "expected" else f"_{self.ties}"
        return f"{prefix}{self.metric}{cutoff}{self._part_suffix}{ties}"

    @classmethod
    def find(cls, key: str, parts: Collection[str] = ()) -> Measure | None:
        """The measure of a result key; None where the key names none.

        Keys that name none are mteb's ``accuracy`` and ``nauc_…``, say, and whatever is not a
        score: ``num_queries``, ``ci95_low``.

        Args:
            key: The key.
            parts: The names of the question sets or parts that the task has.
        """
        named = "|".join(map(re.escape, parts))
        part = f"(?:_(?P<part>{named}))?" if named else "(?P<part>)"
        correlation = rf"(?:(?P<similarity>{_SIMILARITIES})_)?(?P<metric>pearson|spearman){part}"
        ranking = (
            rf"(?P<metric>{'|'.join(get_args(RankingMetric))})"
            rf"(?:_at_(?P<cutoff>[1-9][0-9]*))?{part}(?:_(?P<ties>{_ORDERS}))?"
        )
        found = re.fullmatch(correlation, key) or re.fullmatch(ranking, key)
        if found is None:
            return None
        fields: dict[str, Any] = {name: value for name, value in found.groupdict().items() if value}
        if fields["metric"] in _NEEDS_CUTOFF and "cutoff" not in fields:
            return None
        if "cutoff" in fields:
            fields["cutoff"] = int(fields["cutoff"])
        return cls(**fields)

    @classmethod
    def parse(cls, key: str, parts: Collection[str] = ()) -> Measure:
        """The measure of a result key.

        Args:
            key: The key.
            parts: The names of the question sets or parts that the task has.

        Raises:
            ProtocolError: If the key names no measure.
        """
        found = cls.find(key, parts)
        if found is None:
            known = [*_EXAMPLES, *(f"{e}_{part}" for part in parts for e in _EXAMPLES)]
            hint = did_you_mean(key, known) or f" Examples: {', '.join(_EXAMPLES[:8])}."
            raise ProtocolError(f"{key} is not a measure of this task.{hint}")
        return found


def check_set_name(name: str) -> None:
    """Refuse a name of a question set that would make result keys ambiguous.

    Raises:
        ProtocolError: If the name is empty, reads as a cut-off (``at_10``), or ends in the name of
            an order of equal scores (``best``).
    """
    if not name or _RESERVED.fullmatch(name):
        raise ProtocolError(
            f"{name!r} cannot name a question set: the result key map_{name} would mean something "
            "else. Choose a name that is no cut-off and does not end in an order of equal scores."
        )
