"""The released outputs of published systems, fetched and scored."""

from __future__ import annotations

from collections.abc import Iterator

from mteb_ext.data.sources import UpstreamFiles
from mteb_ext.errors import DataError
from mteb_ext.outputs.scoring import Scored, score_outputs
from mteb_ext.published.released import RELEASES, Release


def score_released(task: str) -> Iterator[Scored]:
    """Score the released outputs of a task's published systems.

    Raises:
        DataError: If there are none, a file cannot be had, or the published figures do not come
            out.
    """
    releases = [release for release in RELEASES if release.task == task]
    if not releases:
        known = ", ".join(dict.fromkeys(release.task for release in RELEASES))
        raise DataError(
            f"no released outputs of {task} are known here; there are those of {known}."
        )
    yield from map(_score, releases)


def _score(release: Release) -> Scored:
    path = UpstreamFiles.file(release.repository, release.path)
    scored = score_outputs(release.task, path, release.name, split=release.split, ids=release.ids)
    release.check(scored.result.scores[release.split])
    return scored
