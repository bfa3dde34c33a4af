"""The lines that a run prints: one a cell, and the failures at the end."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from mteb_ext.running.worker import Event
from mteb_ext.tables.text import on_one_line

if TYPE_CHECKING:
    from rich.progress import Progress as LiveProgress
    from rich.progress import TaskID


class Progress:
    """Prints a line for each settled cell. A terminal also shows the running cells."""

    def __init__(self, costs: Mapping[tuple[int, str], float]) -> None:
        """Prepare.

        Args:
            costs: The cost of each cell, by model and task.
        """
        self._open = dict(costs)
        self._n_cells = len(costs)
        self._n_settled = 0
        self.n_scored = 0
        self._started = time.monotonic()
        self._cost_done = 0.0
        self._rows: dict[tuple[int, str], TaskID] = {}
        self.failed: list[Event] = []
        self._said: set[str] = set()
        self._live = _live()

    def __enter__(self) -> Progress:
        if self._live:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            self._live.stop()

    def take(self, event: Event) -> None:
        """Show an event."""
        key = (event.model, event.task)
        if event.status == "started":
            self._begin(key, f"{event.name} {event.task}")
        elif key in self._open:  # a worker that was replaced may report a cell again
            cost = self._open.pop(key)
            self._end(key)
            self._n_settled += 1
            self._cost_done += cost if event.status == "done" else 0.0
            self.n_scored += event.status in {"done", "cached"}
            if event.status == "failed":
                self.failed.append(event)
            if event.status == "skipped":  # a reason that models or tasks share is said once
                reason = _reason(event)
                event = replace(event, message="" if reason in self._said else reason)
                self._said.add(reason)
            self._say(f"{self._count()} {_line(event)}{self._left()}")

    def end(self) -> None:
        """Count every cell that was never settled as failed: an engine has lost it."""
        for model, task in list(self._open):
            self.take(Event(model, task, "failed", message="no answer came back from its worker."))

    def _begin(self, key: tuple[int, str], cell: str) -> None:
        if not self._live:
            self._say(f"{self._count()} {cell}: running")
        elif key not in self._rows:
            self._rows[key] = self._live.add_task(on_one_line(cell), total=None)

    def _end(self, key: tuple[int, str]) -> None:
        if self._live and key in self._rows:
            self._live.remove_task(self._rows.pop(key))

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
        if self._live:
            self._live.console.print(
                on_one_line(line), markup=False, highlight=False, soft_wrap=True
            )
        else:
            print(on_one_line(line), flush=True)


def duration(seconds: float) -> str:
    """A time that people can read: ``3 s``, ``12 min``, ``5.2 h``."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def _line(event: Event) -> str:
    cell = f"{event.name} {event.task}"
    if event.status in {"failed", "skipped"}:
        how = "FAILED" if event.status == "failed" else "skipped"
        reason = _reason(event)
        return f"{cell}: {how}. {reason}" if reason else f"{cell}: {how}"
    how = "finished before" if event.status == "cached" else f"in {duration(event.seconds)}"
    note = f" ({event.message})" if event.message else ""
    return f"{cell}: {event.metric} {event.score:.4f} {how}{note}"


def _reason(event: Event) -> str:
    """Why a cell has no score; its line names the task already."""
    return re.sub(rf"^{re.escape(event.task)}( \([^)]*\))?: ", "", event.message)


def _live() -> LiveProgress | None:
    """A line at the bottom of a terminal for each cell that is being run, and since when it is.

    It goes to a copy of standard output, which still leads to the terminal while a cell's output
    goes to its log.
    """
    if not sys.stdout.isatty():
        return None
    from rich.console import Console
    from rich.progress import Progress as LiveProgress
    from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

    terminal = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    return LiveProgress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        TimeElapsedColumn(),
        console=Console(file=terminal),
        transient=True,
    )
