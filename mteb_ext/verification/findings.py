"""What a verification finds: findings with reason and remedy, and a verdict a result."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from pathlib import Path

Level = Literal["error", "warning", "note", "submission"]
Verdict = Literal["verified", "supplied", "unverified", "failed"]

CODES: Mapping[Level, frozenset[str]] = {
    "error": frozenset(
        {
            *("unreadable-file", "damaged-file", "foreign-file", "malformed-result"),
            *("wrong-name", "wrong-folder", "large-file", "no-model-meta", "no-revision"),
            *("changed-score", "unknown-score", "changed-predictions", "unfit-predictions"),
            *("other-model", "other-data", "sample-data", "unverified-data", "old-protocol"),
            *("unknown-task", "missing-split", "missing-subset", "unknown-subset"),
            *("other-languages", "damaged-stamp", "damaged-leaks", "other-stamp", "contradiction"),
            *("removed-split", "removed-subset", "removed-language", "score-change"),
        }
    ),
    "warning": frozenset(
        {
            *("no-predictions", "no-data", "missing-score", "changed-result"),
            *("duplicate", "same-predictions", "link", "no-comparison"),
        }
    ),
    "note": frozenset(
        {
            *("no-stamp", "other-versions", "other-model-revision", "cut-outputs"),
            *("stray-predictions", "stray-stamp", "other-json"),
        }
    ),
    "submission": frozenset(
        {
            *("task-not-in-mteb", "model-not-in-mteb", "several-revisions"),
            *("run-settings", "mteb-version"),
        }
    ),
}
"""The kinds of finding by level; docs/VERIFY.md explains each."""

UNPROVEN = frozenset(
    {
        *("no-predictions", "no-data", "missing-score"),
        *("sample-data", "unverified-data", "unknown-task"),
    }
)
"""Findings that leave a result unverified, though nothing in it is known to be wrong."""


@dataclass(frozen=True)
class Finding:
    """One thing that a verification found.

    Attributes:
        code: A short name of the kind of finding, of `CODES`.
        file: The file.
        model: The model, as :func:`mteb_ext.load_results` names it; empty where none is known.
        revision: Its revision.
        task: The task; empty where none is known.
        reason: What was found.
        remedy: What to do.
    """

    code: str
    file: Path
    model: str
    revision: str
    task: str
    reason: str
    remedy: str

    @property
    def level(self) -> Level:
        """How much it matters.

        ``error``: the result must not be shown as the task's. ``warning``: nothing is seen to be
        wrong, and something should be looked at or cannot be proven. ``note``: worth knowing.
        ``submission``: mteb's own repository of results would not take the file.
        """
        return next(level for level, codes in CODES.items() if self.code in codes)


@dataclass(frozen=True)
class VerifyReport:
    """All that a verification found.

    Attributes:
        findings: The findings: errors first, and by file.
        verdicts: By model, revision and task: ``verified`` (every score was computed again, from
            the kept predictions and the paper's data, and is right), ``supplied`` (so is every
            score, from outputs that were made elsewhere), ``failed`` (something is wrong), or
            ``unverified`` (neither could be shown, as of tasks of mteb's own).
    """

    findings: Sequence[Finding]
    verdicts: Mapping[tuple[str, str, str], Verdict]

    @property
    def failed(self) -> bool:
        """Whether there is an error among the findings."""
        return any(finding.level == "error" for finding in self.findings)


def verdict(findings: Collection[Finding], *, recomputed: bool, supplied: bool) -> Verdict:
    """What the findings about a result come to.

    Args:
        findings: The findings.
        recomputed: Whether all its scores were computed again.
        supplied: Whether the outputs were made elsewhere. Nothing then shows which system made
            them.
    """
    if any(f.level == "error" and f.code not in UNPROVEN for f in findings):
        return "failed"
    proven = recomputed and not any(f.code in UNPROVEN for f in findings)
    if not proven:
        return "unverified"
    return "supplied" if supplied else "verified"
