"""A paper's evaluation protocol as data, attached to a task and checked.

A protocol states the headline metric, the questions that count, the cutoffs of precision, and the
expected content of the data. :mod:`mteb_ext.bases` applies it. Nothing here depends on mteb.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields, is_dataclass
from enum import Enum
from typing import Any, Literal


class QuestionFilter(Enum):
    """The questions that an average is over."""

    WITH_CANDIDATES = "at least one candidate"
    ANSWERED = "at least one relevant candidate"
    BOTH = "at least one relevant and one irrelevant candidate"

    def keeps(self, labels: Sequence[int]) -> bool:
        """Whether a question with these relevance labels (0 or 1) counts."""
        if self is QuestionFilter.WITH_CANDIDATES:
            return len(labels) > 0
        relevant = sum(labels)
        return relevant > 0 and (self is QuestionFilter.ANSWERED or relevant < len(labels))


@dataclass(frozen=True)
class PairFacts:
    """The expected content of a set of sentence pairs.

    Attributes:
        pairs: Number of pairs.
        fingerprint: sha256 of the content in its canonical form, see
            :func:`mteb_ext.data.checks.fingerprint`; None skips the check.
        parts: Number of pairs of each named part, see
            :class:`mteb_ext.data.records.Pairs`.
        genres: Number of pairs of each genre; None is not checked.
    """

    pairs: int
    fingerprint: str | None = None
    parts: Mapping[str, int] = field(default_factory=dict)
    genres: Mapping[str, int] | None = None


@dataclass(frozen=True)
class QuestionFacts:
    """The expected content of a set of questions. None means unknown, and skips the check.

    Attributes:
        questions: Questions in the file, those without candidates included.
        rows: (question, candidate) rows in the file.
        relevant: Rows with label 1.
        kept: Questions that the headline's filter keeps.
        kept_rows: Rows of those.
        fingerprint: As in :class:`PairFacts`.
        candidates: Candidate counts of the single questions.
    """

    questions: int
    rows: int
    relevant: int
    kept: int | None = None
    kept_rows: int | None = None
    fingerprint: str | None = None
    candidates: tuple[int, ...] | None = None


@dataclass(frozen=True)
class CorrelationProtocol:
    """STS: the correlation of a similarity with gold scores.

    The headline of a task with several subsets is the plain mean of the subsets' correlations. All
    pairs are never pooled.

    Attributes:
        headline: The coefficient of the paper's main score. The other one is reported beside it.
        source: Where the paper says so: section or table.
        facts: Expected content by split and subset.
    """

    headline: Literal["spearman", "pearson"]
    source: str
    facts: Mapping[str, Mapping[str, PairFacts]]


@dataclass(frozen=True)
class QuestionSet:
    """The questions of a second average.

    Attributes:
        name: The end of that average's result keys: ``map_NAME``.
        keep: The questions.
    """

    name: str
    keep: QuestionFilter


@dataclass(frozen=True)
class RankingProtocol:
    """Ranking: metrics per question over its full candidate list, then averaged over questions.

    Attributes:
        headline: The paper's main score.
        source: Where the paper says so: section or table.
        facts: Expected content by split.
        keep: The questions that the headline averages over.
        also: The questions of a second, named average.
        cutoffs: The N of every reported precision at N.
        unfiltered: Splits that the paper uses whole, for training.
        symmetric: Whether queries and candidates are texts of one kind. The paper then embeds both
            alike: the model sees no query or document side, and one prompt or none.
    """

    headline: Literal["map", "mrr"]
    source: str
    facts: Mapping[str, QuestionFacts]
    keep: QuestionFilter
    also: QuestionSet | None = None
    cutoffs: Sequence[int] = (1,)
    unfiltered: frozenset[str] = frozenset()
    symmetric: bool = False

    def keep_in(self, split: str) -> QuestionFilter:
        """The paper's filter of a split."""
        return QuestionFilter.WITH_CANDIDATES if split in self.unfiltered else self.keep

    def reports_on(self, labels: Sequence[int]) -> bool:
        """Whether a question counts in the headline or in the second average."""
        return self.keep.keeps(labels) or (self.also is not None and self.also.keep.keeps(labels))


def protocol_version(protocol: CorrelationProtocol | RankingProtocol) -> str:
    """A digest of the rules of a protocol, in 16 hexadecimal digits.

    The citation and the facts of the data are left out; the data has fingerprints of its own.
    Fields at their default are skipped, so a new optional field does not change existing versions.
    """
    demands = {}
    for field_ in fields(protocol):
        demand = _as_json(getattr(protocol, field_.name))
        at_default = field_.default is not MISSING and demand == _as_json(field_.default)
        if field_.name not in {"source", "facts"} and not at_default:
            demands[field_.name] = demand
    return hashlib.sha256(_as_json(demands).encode()).hexdigest()[:16]


def _as_json(value: object) -> str:
    return json.dumps(value, sort_keys=True, default=_plain)


def _plain(value: Any) -> object:  # noqa: ANN401 - of a field
    if isinstance(value, Enum):
        return value.name
    return asdict(value) if is_dataclass(value) else sorted(value)  # type: ignore[arg-type]
