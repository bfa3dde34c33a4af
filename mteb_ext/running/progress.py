"""What a run says: a line a cell, and at the end what was found and what failed."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from mteb_ext.rendering.text import printable
from mteb_ext.running.worker import Event

if TYPE_CHECKING:
    from rich.status import Status


class Progress:
    """Prints events as they come: finished cells as lines, and in a terminal what is being run."""

    def __init__(self, costs: Mapping[tuple[int, str], float]) -> None:
        """Prepare.

        Args:
            costs: The cost of each cell, by model and task.
        """
        self._open = dict(costs)
        self._n_cells = len(costs)
        self._n_settled = 0
        self._started = time.monotonic()
        self._cost_done = 0.0
        self._running: dict[tuple[int, str], str] = {}
        self.failed: list[Event] = []
        self._status = _status()

    def __enter__(self) -> Progress:
        if self._status:
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._status:
            self._status.stop()

    def take(self, event: Event) -> None:
        """Show an event."""
        key = (event.model, event.task)
        if event.status == "started":
            self._running[key] = f"{event.name} {event.task}"
            if not self._status:
                self._say(f"{self._count()} {event.name} {event.task}: running")
        elif key in self._open:  # a worker that was replaced may report a cell again
            cost = self._open.pop(key)
            self._running.pop(key, None)
            self._n_settled += 1
            self._cost_done += cost if event.status == "done" else 0.0
            if event.status == "failed":
                self.failed.append(event)
            self._say(f"{self._count()} {_line(event)}{self._left()}")
        if self._status:
            self._status.update(", ".join(self._running.values()))

    def _count(self) -> str:
        width = len(str(self._n_cells))
        return f"[{self._n_settled:{width}}/{self._n_cells}]"

    def _left(self) -> str:
        """About how long the rest takes, by what the finished cells took."""
        if not self._cost_done or not self._open:
            return ""
        elapsed = time.monotonic() - self._started
        return f"; about {duration(elapsed / self._cost_done * sum(self._open.values()))} left"

    def _say(self, line: str) -> None:
        line = printable(" ".join(line.split()))
        if self._status:
            self._status.console.print(line, markup=False, highlight=False, soft_wrap=True)
        else:
            print(line, flush=True)


def duration(seconds: float) -> str:
    """A time that people can read: ``3 s``, ``12 min``, ``5.2 h``."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def _line(event: Event) -> str:
    cell = f"{event.name} {event.task}"
    if event.status == "failed":
        return f"{cell}: FAILED. {event.message}"
    how = "finished before" if event.status == "cached" else f"in {duration(event.seconds)}"
    note = f" ({event.message})" if event.message else ""
    return f"{cell}: {event.metric} {event.score:.4f} {how}{note}"


def _status() -> Status | None:
    """A line at the bottom of a terminal, on a copy of standard output.

    The copy still leads to the terminal while a cell's output goes to its log.
    """
    if not sys.stdout.isatty():
        return None
    from rich.console import Console

    terminal = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    return Console(file=terminal).status("")
