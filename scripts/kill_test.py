"""Kill fetch and run at random moments, and see that the same command then completes.

Each command is first run undisturbed. Then, for each of some seeded moments within the time that
it took, it is started in a folder of its own, its process group is killed (SIGKILL), and the same
command is started again: it must complete, and leave what the undisturbed one left, apart from
times and dates. The files that fetch asks for are the made-up samples, which a server on this
machine sends slowly; run evaluates lexical baselines on samples.

    python scripts/kill_test.py --kills 10

prints a table, and exits with 1 where anything else was left.
"""

from __future__ import annotations

import argparse
import hashlib
import http.server
import json
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

CHUNK, PAUSE = 512, 0.02  # bytes that the server sends at a time, and seconds between
TASK = "WikiQA.sample"
MODELS = ("mteb-ext/token-cosine", "mteb-ext/word-count", "mteb-ext/weighted-word-count")
RUN_TASKS = ("WikiQA.sample", "TRECQA.sample", "QABot.sample")
CHANGING = ("date", "evaluation_time", "evaluation_phases")  # of a result: when, and how fast


@dataclass
class Outcome:
    """What became of one command.

    Attributes:
        seconds: How long it took undisturbed.
        killed: How many were killed; the others had ended before their moment.
        left: How many hidden files the killed ones left behind for good; locks, which stay, apart.
        faults: What went wrong, in sentences.
    """

    seconds: float
    killed: int = 0
    left: int = 0
    faults: list[str] = field(default_factory=list)


def sample_files() -> dict[str, Path]:
    """The samples that the task asks for, by the keys under which the real files are fetched."""
    from mteb_ext.data import sources

    names = [f"WikiQACorpus/WikiQA-{split}.tsv" for split in ("train", "dev", "test")]
    return {
        key: sources.samples_folder() / name
        for key in sources.registry()
        for name in names
        if key.endswith(f"/{name}")
    }


@contextmanager
def slow_host(files: dict[str, Path]) -> Iterator[str]:
    """Serve files slowly, at an address on this machine."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            content = files[self.path.removeprefix("/")].read_bytes()
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            for start in range(0, len(content), CHUNK):
                self.wfile.write(content[start : start + CHUNK])
                time.sleep(PAUSE)

        def log_message(self, *_: object) -> None:
            pass

        def handle(self) -> None:
            with suppress(ConnectionError):  # whoever asked was killed
                super().handle()

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


def fetch(folder: Path, host: str) -> int:
    """``mteb-ext fetch`` of the made-up files."""
    from mteb_ext.cli import main
    from mteb_ext.data import sources
    from mteb_ext.plugin.lookup import paper_task

    digests = {k: hashlib.sha256(p.read_bytes()).hexdigest() for k, p in sample_files().items()}
    task = paper_task(TASK)
    task.source = sources.UpstreamFiles()
    # Made-up rows have neither the counts nor the fingerprint of the real ones.
    task._verified_revision = classmethod(lambda cls, *_: cls.metadata.revision)  # type: ignore[method-assign]
    sources.HOST = host
    sources.registry = lambda: digests  # type: ignore[assignment]
    os.environ["MTEB_EXT_DATA"] = str(folder)
    for variable in sources.OFFLINE_VARIABLES:
        os.environ.pop(variable, None)
    return main(["fetch", TASK])


def run(folder: Path, host: str) -> int:
    """``mteb-ext run`` of three baselines on three samples."""
    from mteb_ext.cli import main

    del host
    return main(["run", "-m", *MODELS, "-t", *RUN_TASKS, "--output-folder", str(folder)])


COMMANDS = {"fetch": fetch, "run": run}


def start(command: Callable[[Path, str], int], folder: Path, host: str) -> int:
    """Start a command in a process and a process group of its own; everything is imported."""
    pid = os.fork()
    if pid:
        return pid
    status = 9
    try:
        os.setsid()
        with Path(os.devnull).open("w") as nothing:
            os.dup2(nothing.fileno(), 1)
            if not os.environ.get("KILL_TEST_VERBOSE"):
                os.dup2(nothing.fileno(), 2)
        status = command(folder, host)
    finally:
        os._exit(status)


def ended(pid: int) -> int:
    """Wait for a process; its exit status, negative where a signal ended it."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def left_in(folder: Path) -> dict[str, Any]:
    """What a command has left, but for hidden files, times and dates."""
    found: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        hidden = any(part.startswith(".") for part in Path(name).parts)
        if not path.is_file() or hidden or path.suffix in {".log", ".stamp"}:
            continue
        content = path.read_bytes()
        if path.suffix == ".json" and name.startswith("results"):
            result = json.loads(content)
            found[name] = {key: value for key, value in result.items() if key not in CHANGING}
        elif path.suffix == ".jsonl":
            found[name] = sorted(content.splitlines())  # a line a cell, in the order they were run
        else:
            found[name] = content
    return found


def kill_at_random(name: str, kills: int, seed: int, folder: Path, host: str) -> Outcome:
    """Run a command undisturbed, then kill it at random moments and complete it each time."""
    command, random = COMMANDS[name], Random(seed)
    began = time.monotonic()
    if status := ended(start(command, folder / "undisturbed", host)):
        return Outcome(0, faults=[f"{name} undisturbed ended with {status}"])
    outcome = Outcome(time.monotonic() - began)
    expected = left_in(folder / "undisturbed")
    if not expected:
        outcome.faults.append(f"{name} undisturbed left nothing")
    for number in range(kills):
        here = folder / str(number)
        moment = random.uniform(0, outcome.seconds)
        pid = start(command, here, host)
        time.sleep(moment)
        try:
            os.killpg(pid, signal.SIGKILL)
        except ProcessLookupError:  # it has not made its group yet
            os.kill(pid, signal.SIGKILL)
        outcome.killed += ended(pid) == -signal.SIGKILL
        if status := ended(start(command, here, host)):
            outcome.faults.append(f"{name} killed after {moment:.2f} s then ended with {status}")
        elif (left := left_in(here)) != expected:
            other = [n for n in {*left, *expected} if left.get(n) != expected.get(n)]
            outcome.faults.append(
                f"{name} killed after {moment:.2f} s then left another {min(other)}"
            )
        hidden = (path for path in here.rglob(".*") if path.is_file() and path.suffix != ".lock")
        outcome.left += len(list(hidden))
    return outcome


def main() -> int:
    """Kill each command so many times, and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--kills", type=int, default=10, help="of each command")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()

    import mteb

    for task in RUN_TASKS:
        mteb.get_task(task)
    faults = []
    print("| Command | Undisturbed, s | Killed | Hidden files left | Completed and equal |")
    print("| --- | ---: | ---: | ---: | ---: |", flush=True)
    with slow_host(sample_files()) as host, tempfile.TemporaryDirectory() as folder:
        for name in COMMANDS:
            place = Path(folder) / name
            outcome = kill_at_random(name, arguments.kills, arguments.seed, place, host)
            equal = arguments.kills - len(outcome.faults)
            print(
                f"| `{name}` | {outcome.seconds:.1f} | {outcome.killed} of {arguments.kills} "
                f"| {outcome.left} | {equal} of {arguments.kills} |",
                flush=True,
            )
            faults += outcome.faults
    for fault in faults:
        print(f"FAULT: {fault}", file=sys.stderr)
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
