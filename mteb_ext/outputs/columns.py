"""Named columns: what a header, the keys of JSON objects and the columns of a frame have alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mteb_ext.outputs.rows import Kind, Row

_NAMES: Mapping[str, Sequence[str]] = {
    "score": ("score",),
    "query": ("query", "query_id", "qid", "question_id"),
    "document": ("document", "document_id", "docid", "doc_id", "docno", "candidate_id"),
    "id": ("id", "row"),
    "subset": ("subset",),
    "sentence1": ("sentence1",),
    "sentence2": ("sentence2",),
}
EXAMPLES = "'query,document,score', 'id,score', 'sentence1,sentence2,score' or 'score'"
_MEANING = {name: meaning for meaning, names in _NAMES.items() for name in names}
_ITEMS: Sequence[tuple[Kind, tuple[str, ...]]] = (
    ("candidates", ("query", "document")),
    ("ids", ("id",)),
    ("rows", ()),
)


class HeaderError(Exception):
    """Why column names do not say what the scores are of; the caller names the file."""


@dataclass(frozen=True)
class Columns:
    """Which column holds what.

    Attributes:
        places: The place of each column that counts, by its meaning.
        ignored: The names of the others.
        kind: What the scores are of.
    """

    places: Mapping[str, int]
    ignored: Sequence[str]
    kind: Kind

    @classmethod
    def of(cls, names: Sequence[str]) -> Columns:
        """Read column names, in upper or lower case.

        Raises:
            HeaderError: If there is no score, a meaning occurs twice, or half of a pair is missing.
        """
        places: dict[str, int] = {}
        ignored = []
        for place, name in enumerate(names):
            meaning = _MEANING.get(name.strip().casefold())
            if meaning is None:
                ignored.append(name.strip())
            elif meaning in places:
                raise HeaderError(f"two columns are a {meaning}: {names[places[meaning]]}, {name}.")
            else:
                places[meaning] = place
        if "score" not in places:
            raise HeaderError(f"no column is named score. Columns can be {EXAMPLES}.")
        for one, other in (("query", "document"), ("sentence1", "sentence2")):
            if (one in places) != (other in places):
                raise HeaderError(f"{one} and {other} belong together: give both, or neither.")
        kind = next(kind for kind, item in _ITEMS if all(name in places for name in item))
        return cls(places, ignored, kind)

    def row(self, cells: Sequence[str], place: int, score: float) -> Row:
        """The score of a row."""

        def cell(name: str) -> str:
            return cells[self.places[name]].strip()

        sentences = ("sentence1", "sentence2") if "sentence1" in self.places else ()
        return Row(
            place,
            score,
            tuple(map(cell, dict(_ITEMS)[self.kind])),
            cell("subset") if "subset" in self.places else "",
            tuple(cells[self.places[name]] for name in sentences),
        )

    @property
    def remarks(self) -> tuple[str, ...]:
        """Which columns did not count."""
        return (f"columns that do not count: {', '.join(self.ignored)}.",) if self.ignored else ()
