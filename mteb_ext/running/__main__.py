"""A worker process of ``mteb-ext run --jobs``: jobs on standard input, events on standard output.

Whatever else is printed goes to standard error.
"""

from __future__ import annotations

import os
import sys

if __name__ == "__main__":
    events = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    from mteb_ext.running.engines import answer_jobs

    answer_jobs(sys.stdin.buffer, events)
