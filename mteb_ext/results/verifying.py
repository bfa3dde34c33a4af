"""A passport for results: every score computed again, and all that can be checked beside it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mteb_ext.results.findings import VerifyReport


def verify_results(
    folders: str | Path | Sequence[str | Path], *, against: str | Path | None = None
) -> VerifyReport:
    """Verify every result below folders; nothing is written and no model is run.

    Args:
        folders: One folder or several: what ``--output-folder`` was given, or a folder above.
        against: An older copy of the same results, such as a checkout of mteb's repository of
            results: what was removed since, and main scores that changed, are findings.

    Returns:
        The findings, and a verdict for each model, revision and task.

    Raises:
        DataError: If a folder does not exist.
    """
    raise NotImplementedError
