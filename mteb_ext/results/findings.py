"""What a verification finds: findings with reason and remedy, and a verdict a result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from pathlib import Path

Level = Literal["error", "warning", "note", "submission"]
Verdict = Literal["verified", "unverified", "failed"]


@dataclass(frozen=True)
class Finding:
    """One thing that a verification found.

    Attributes:
        level: ``error``: the result must not be shown as the task's. ``warning``: nothing is wrong
            that can be seen, and something cannot be proven. ``note``: worth knowing.
            ``submission``: mteb's own repository of results would not take the file.
        code: A short name of the kind of finding; docs/VERIFY.md lists them.
        file: The file.
        model: The model, as :func:`mteb_ext.load_results` names it; empty where none is known.
        revision: Its revision.
        task: The task; empty where none is known.
        reason: What was found.
        remedy: What to do.
    """

    level: Level
    code: str
    file: Path
    model: str
    revision: str
    task: str
    reason: str
    remedy: str


@dataclass(frozen=True)
class VerifyReport:
    """All that a verification found.

    Attributes:
        findings: The findings, by file.
        verdicts: By model, revision and task: ``verified`` (every score was computed again, from
            the kept predictions and the paper's data, and is right), ``failed`` (something is
            wrong), or ``unverified`` (neither could be shown, as of tasks of mteb's own).
    """

    findings: Sequence[Finding]
    verdicts: Mapping[tuple[str, str, str], Verdict]

    @property
    def failed(self) -> bool:
        """Whether there is an error among the findings."""
        return any(finding.level == "error" for finding in self.findings)
