"""Engines: where the jobs of a run are done. In this process, in several, or on a Ray cluster."""

from __future__ import annotations

import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from mteb_ext.errors import error_line
from mteb_ext.running.worker import Event, Job, Worker

_ATTEMPTS = 2  # a worker that dies twice on one cell dies of it

# -P keeps files of the working folder, a queue.py say, from hiding modules of the same name. The
# package's own place comes last on the path, for a copy that is not installed.
_HOME = Path(__file__).resolve().parents[2]
_WORKER = (
    f"import sys; sys.path.append({str(_HOME)!r}); "
    "from mteb_ext.running.worker_process import main; main()"
)


def run_here(jobs: Sequence[Job]) -> Iterator[Event]:
    """Run jobs in this process, one after another."""
    for job in jobs:
        yield from Worker(job).run()


def run_in_processes(
    jobs: Sequence[Job], n_workers: int, devices: Sequence[str]
) -> Iterator[Event]:
    """Run jobs in several processes of this machine.

    A process that dies is replaced, and its cell is tried once more. Worker processes end within
    seconds when this one dies.

    Args:
        jobs: The jobs, longest first.
        n_workers: Number of processes.
        devices: Devices, which the processes take in turn; the best there is if empty.

    Yields:
        What becomes of each cell, as it happens.
    """
    waiting: queue.Queue[Job] = queue.Queue()
    for job in jobs:
        waiting.put(job)
    events: queue.Queue[Event | None] = queue.Queue()
    workers = [
        _Process(number, devices[number % len(devices)] if devices else None, n_workers)
        for number in range(min(n_workers, len(jobs)))
    ]
    for worker in workers:
        threading.Thread(target=worker.serve, args=(waiting, events.put), daemon=True).start()
    ended = 0
    try:
        while ended < len(workers):
            event = events.get()
            if event is None:
                ended += 1
            else:
                yield event
    finally:
        for worker in workers:
            worker.end()


class _Process:
    """A worker process, which is sent jobs and answers with events."""

    def __init__(self, number: int, device: str | None, n_workers: int) -> None:
        self._number = number
        self._device = device
        self._environment = {**os.environ}
        threads = max(1, (os.cpu_count() or 1) // n_workers)
        self._environment.setdefault("OMP_NUM_THREADS", str(threads))
        self._process: subprocess.Popen[bytes] | None = None
        self._died = ""

    def serve(self, jobs: queue.Queue[Job], report: Callable[[Event | None], None]) -> None:
        """Do jobs until there is none left, then report None."""
        try:
            while True:
                job = replace(jobs.get_nowait(), device=self._device)
                self._do(job, report)
        except queue.Empty:
            pass
        finally:
            report(None)

    @property
    def _log(self) -> Path:
        return Path("logs", f"worker-{self._number + 1}.log")

    def end(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()

    def _do(self, job: Job, report: Callable[[Event | None], None]) -> None:
        attempts: Counter[str] = Counter()
        open_tasks = list(job.tasks)
        while open_tasks:
            at = open_tasks[0]
            for event in self._events(replace(job, tasks=tuple(open_tasks))):
                at = event.task
                if event.status != "started":
                    open_tasks.remove(event.task)
                report(event)
            if self._process is not None:
                return
            attempts[at] += 1
            if at in open_tasks and attempts[at] == _ATTEMPTS:
                open_tasks.remove(at)
                log = str(job.store.folder / self._log)
                report(Event(job.index, at, "failed", job.model.model, message=self._died, log=log))

    def _events(self, job: Job) -> Iterator[Event]:
        """Send a job and yield its events; the process is None afterwards if it died."""
        try:
            process = self._process = self._process or self._start(job.store.folder)
            assert process.stdin is not None
            assert process.stdout is not None
            pickle.dump(replace(job, model=replace(job.model)), process.stdin)
            process.stdin.flush()
            while (event := pickle.load(process.stdout)) is not None:
                yield event
        except (BrokenPipeError, EOFError):
            self._died = _cause_of_death(process.wait())
            self._process = None
        except Exception as error:  # a log that cannot be opened, no memory, a garbled answer
            self._died = f"its worker process cannot be used: {error_line(error)}"
            self.end()
            self._process = None

    def _start(self, folder: Path) -> subprocess.Popen[bytes]:
        log = folder / self._log
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as file:
            return subprocess.Popen(
                [sys.executable, "-P", "-c", _WORKER],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=file,
                env=self._environment,
            )


def _cause_of_death(status: int) -> str:
    if status < 0:
        name = signal.Signals(-status).name
        hint = ", as it is when memory runs out" if name == "SIGKILL" else ""
        return f"its worker process was ended by {name}{hint}"
    return f"its worker process ended with status {status}"
