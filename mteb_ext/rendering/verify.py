"""What ``mteb-ext verify`` shows: tables for people, JSON for programs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, get_args

from mteb_ext.rendering.table import Table
from mteb_ext.results.findings import Verdict

if TYPE_CHECKING:
    from mteb_ext.results.findings import VerifyReport


def verify_tables(report: VerifyReport) -> Iterator[Table]:
    """The tables: every result with its verdict, the findings, and what mteb would not take."""
    verdicts = [(*key, verdict) for key, verdict in report.verdicts.items()]
    counts = Counter(report.verdicts.values())
    summary = ", ".join(f"{counts[verdict]} {verdict}" for verdict in get_args(Verdict))
    yield Table("Results", ("model", "revision", "task", "verdict"), verdicts, [f"{summary}."])
    findings = [
        (f.level, f.code, str(f.file), f"{f.reason} {f.remedy}")
        for f in report.findings
        if f.level != "submission"
    ]
    if findings:
        yield Table(
            "Findings", ("level", "code", "file", "what was found, and what to do"), findings
        )
    rows = list(_submission_rows(report))
    if rows:
        columns = ("code", "results", "why, and what to do")
        yield Table("Not for mteb's own repository of results", columns, rows)


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
