"""What ``mteb-ext leak`` shows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from mteb_ext.leaks.scores import FEWEST
from mteb_ext.tables.table import Table
from mteb_ext.tables.text import interval, number, p_value

if TYPE_CHECKING:
    from mteb_ext.analysis.seen import SeenBy
    from mteb_ext.formats.leaks import Count, Leaks, SubsetSeen
    from mteb_ext.leaks.counting import Sighting
    from mteb_ext.leaks.own import OwnLeak
    from mteb_ext.leaks.scores import PartScore, SeenScore

_SEEN = ("items", "with a text seen", "whole item seen", "of the headline's")
NOT_NAMED = "a model without a name"  # for which --model was left out
_SHOWN = 10  # texts of a task, with --show
_LONGEST = 100  # characters of a text


def leak_tables(leaks: Leaks) -> Iterator[Table]:
    """What was seen, by items and by the texts of each side."""
    texts = sum(file.texts for file in leaks.training)
    whose = f"training data of {leaks.model}" if leaks.model else "training data"
    yield Table(
        f"Seen in the {whose}: {len(leaks.training)} files, {texts:,} texts",
        ("task", "split", "subset", *_SEEN),
        [(seen.task, seen.split, seen.subset, *_items(seen)) for seen in leaks.tasks],
        [
            f"Seen: {leaks.rule}.",
            "Whole item: both sentences of a pair, or a question and an answer, in one record.",
        ],
    )
    yield Table(
        "Distinct texts",
        ("task", "split", "subset", "side", "texts", "equal", "near"),
        [
            (
                *(seen.task, seen.split, seen.subset, side.name, f"{side.texts:,}"),
                *(str(side.seen.exact), str(side.seen.near)),
            )
            for seen in leaks.tasks
            for side in seen.sides
        ],
    )


def seen_table(found: Iterable[SeenBy]) -> Table:
    """What models may have seen of the tasks, from :func:`mteb_ext.analysis.seen.seen_in`."""
    rows = [
        (one.model or NOT_NAMED, seen.task, seen.split, seen.subset, *_items(seen))
        for one in found
        for seen in (one.part,)
    ]
    return Table(
        "Test items that stand in training data",
        ("model", "task", "split", "subset", *_SEEN),
        rows,
        ["A lower bound: docs/LEAKS.md says what counts as seen."],
    )


def own_table(found: Iterable[OwnLeak], missing: Sequence[str]) -> Table:
    """The papers' own splits against each other."""
    return Table(
        "Test items that stand in other splits",
        ("test", "stands in", *_SEEN, "distinct texts by side"),
        [
            (
                " ".join((seen.task, seen.split, *([seen.subset] * (seen.subset != "default")))),
                leak.source,
                *_items(seen),
                ", ".join(f"{s.name} {s.seen.exact} of {s.texts:,}" for s in seen.sides),
            )
            for leak in found
            for seen in (leak.seen,)
        ],
        [f"Not here, and left out: {', '.join(missing)}."] if missing else [],
    )


def scores_table(scores: Iterable[SeenScore]) -> Table:
    """Each model's score on what was seen and what was not."""
    return Table(
        "Scores on unseen and on seen items",
        ("task", "split", "subset", "model", "metric", "all", "unseen", "seen", "difference", "p"),
        [
            (
                *(row.task, row.split, row.subset, row.run, row.metric),
                *map(_part, (row.all, row.unseen, row.seen)),
                f"{row.difference.difference:+.3f}" if row.difference else "",
                p_value(row.difference.p) if row.difference else "",
            )
            for row in scores
        ],
        [
            "With 95% intervals. difference: seen minus unseen, by a permutation test. Seen items "
            "may also be easier: look at a model that was trained on nothing, such as a baseline.",
            f"Below {FEWEST} items nothing is said.",
        ],
    )


def sightings_table(
    texts: Mapping[str, Sequence[str]], number: Mapping[str, int], seen: Mapping[int, Sighting]
) -> Table:
    """Where texts were first seen.

    Args:
        texts: Texts that may be shown, by task.
        number: The number of each text, see :class:`mteb_ext.leaks.counting.Lookup`.
        seen: The sightings, by number.
    """
    rows = []
    for task, of_task in texts.items():
        there = [(text, seen[number[text]]) for text in of_task if number[text] in seen]
        rows += [
            (task, text[:_LONGEST], "equal" if s.exact else "near", s.file, f"{s.record:,}")
            for text, s in there[:_SHOWN]
        ]
    return Table(
        f"Where texts were first seen (at most {_SHOWN} a task)",
        ("task", "test text", "match", "training file", "record"),
        rows,
    )


def _items(seen: SubsetSeen) -> tuple[str, ...]:
    return (
        f"{seen.items:,} {seen.item}s",
        _share(seen.any_text, seen.items),
        _share(seen.whole, seen.items),
        _share(seen.headline_any_text, seen.headline_items),
    )


def _share(count: Count, of: int) -> str:
    if not count.seen:
        return "0"
    near = f", {count.near} near" if count.near else ""
    return f"{count.seen:,} of {of:,} ({count.seen / of:.1%}{near})"


def _part(part: PartScore) -> str:
    if math.isnan(part.value):
        return f"too few ({part.n})" if part.n < FEWEST else f"undefined ({part.n})"
    return f"{number(part.value)} ({interval(part.low, part.high)}; {part.n:,})"
