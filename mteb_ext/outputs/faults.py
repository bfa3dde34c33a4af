"""What keeps outputs from fitting a task, gathered so that one error names all of it."""

from __future__ import annotations

from mteb_ext.errors import DataError

_SHOWN = 5
_LONGEST = 200  # characters of a thing: identifiers come from files


class Faults:
    """Faults by kind, each kind with all that it concerns."""

    def __init__(self, where: str) -> None:
        """Begin without any.

        Args:
            where: The outputs, the task and the split.
        """
        self._where = where
        self._found: dict[str, list[str]] = {}

    def add(self, kind: str, what: str) -> None:
        """Note a fault.

        Args:
            kind: What is wrong, as it reads after a number of things: ``have no score``.
            what: The thing.
        """
        shown = what if len(what) <= _LONGEST else f"{what[:_LONGEST]}…"
        self._found.setdefault(kind, []).append(shown)

    def check(self, remedy: str) -> None:
        """Refuse the outputs if there is a fault.

        Args:
            remedy: What to do.

        Raises:
            DataError: If there is. The message has the number of faults of each kind, and the first
                five.
        """
        if self._found:
            kinds = "; ".join(_of_kind(kind, things) for kind, things in self._found.items())
            raise DataError(f"{self._where}: {kinds}. {remedy}")


def _of_kind(kind: str, things: list[str]) -> str:
    more = f" and {len(things) - _SHOWN:,} more" if len(things) > _SHOWN else ""
    return f"{len(things):,} {kind} ({', '.join(things[:_SHOWN])}{more})"
