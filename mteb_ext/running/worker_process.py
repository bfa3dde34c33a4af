"""A worker process of ``mteb-ext run --jobs``: jobs on standard input, events on standard output.

Whatever else is printed goes to standard error.
"""

from __future__ import annotations

import os
import pickle
import queue
import sys
import threading
from collections.abc import Callable
from itertools import chain
from typing import IO

from mteb_ext.running.worker import Job, Worker


def main() -> None:
    """Do the jobs that arrive, until the parent process ends this one or dies."""
    events = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    answer_jobs(sys.stdin.buffer, events)


def answer_jobs(jobs: IO[bytes], events: IO[bytes]) -> None:
    """Answer each job with its events and a None.

    The process ends at once when no more jobs can arrive: nobody waits for its answers then.
    """
    waiting: queue.SimpleQueue[Job] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(jobs, waiting.put), daemon=True).start()
    while True:
        for event in chain(Worker(waiting.get()).run(), [None]):
            pickle.dump(event, events)
            events.flush()


def _receive(jobs: IO[bytes], put: Callable[[Job], None]) -> None:
    try:
        while True:
            put(pickle.load(jobs))
    except EOFError:
        os._exit(0)
