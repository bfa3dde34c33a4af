"""What ``mteb-ext verify`` shows: tables for people, JSON for programs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, get_args

from mteb_ext.tables.table import Table
from mteb_ext.verification.findings import Verdict

if TYPE_CHECKING:
    from mteb_ext.verification.findings import VerifyReport

_SUPPLIED = (
    "supplied: verified, the scores follow from the supplied outputs. Nothing shows which system "
    "made them."
)


def verify_tables(report: VerifyReport) -> Iterator[Table]:
    """The tables: every result with its verdict, the findings, and what mteb would not take."""
    verdicts = [(*key, verdict) for key, verdict in report.verdicts.items()]
    counts = Counter(report.verdicts.values())
    shown = [name for name in get_args(Verdict) if counts[name] or name != "supplied"]
    summary = ", ".join(f"{counts[verdict]} {verdict}" for verdict in shown)
    notes = [f"{summary}.", *([_SUPPLIED] if counts["supplied"] else [])]
    yield Table("Results", ("model", "revision", "task", "verdict"), verdicts, notes)
    findings = [*_finding_rows(report)]
    if findings:
        columns = ("level", "code", "file", "what was found, and what to do")
        yield Table("Findings", columns, findings)
    submission = [*_submission_rows(report)]
    if submission:
        of_kinds = ("code", "results", "why, and what to do")
        yield Table("Not for mteb's own repository of results", of_kinds, submission)


def _finding_rows(report: VerifyReport) -> Iterator[tuple[str, str, str, str]]:
    """The findings, a row each; notes that are alike share one."""
    rows: dict[tuple[str, ...], list[str]] = {}
    for f in report.findings:
        if f.level != "submission":
            apart = () if f.level == "note" else (str(f.file),)
            key = (f.level, f.code, f"{f.reason} {f.remedy}", *apart)
            rows.setdefault(key, []).append(str(f.file))
    for (level, code, text, *_), files in rows.items():
        more = f" and {len(files) - 1} more" if len(files) > 1 else ""
        yield level, code, files[0] + more, text


def _submission_rows(report: VerifyReport) -> Iterator[tuple[str, str, str]]:
    """What mteb's repository would not take, a row a kind: most of it is alike for all results."""
    by_kind: dict[tuple[str, str], list[str]] = {}
    for finding in report.findings:
        if finding.level == "submission":
            by_kind.setdefault((finding.code, finding.remedy), []).append(finding.reason)
    for (code, remedy), reasons in by_kind.items():
        first, *others = dict.fromkeys(reasons)
        more = f" (And {len(others)} more like this.)" if others else ""
        yield code, str(len(reasons)), f"{first}{more} {remedy}"


def verify_json(report: VerifyReport) -> str:
    """All findings and verdicts as JSON."""
    content = {
        "failed": report.failed,
        "verdicts": [
            {"model": model, "revision": revision, "task": task, "verdict": verdict}
            for (model, revision, task), verdict in report.verdicts.items()
        ],
        "findings": [{"level": f.level, **asdict(f), "file": str(f.file)} for f in report.findings],
    }
    return json.dumps(content, indent=2) + "\n"
