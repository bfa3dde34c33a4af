"""What the installed package costs a Python that does not use it, and one that imports mteb.

Run ``python scripts/startup_cost.py`` in an environment that has the package installed. Each figure
is the median over fresh processes, whose bytecode is cached, as it is after an installation.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median

# The time inside the hook, counted once where filling a registry imports modules of ours that have
# a hook themselves; then the time of the whole import.
IMPORT_MTEB = """
import time
from mteb_ext import _autoload

fill, depth, spent = _autoload._fill, 0, 0.0

def timed(just_run=None):
    global depth, spent
    depth += 1
    start = time.perf_counter()
    fill(just_run)
    depth -= 1
    if depth == 0:
        spent += time.perf_counter() - start

_autoload._fill = timed
start = time.perf_counter()
import mteb
print(1000 * spent, 1000 * (time.perf_counter() - start))
"""


@dataclass(frozen=True)
class Cost:
    """A figure and the bound that it must stay below."""

    name: str
    milliseconds: float
    bound: float

    def __str__(self) -> str:
        """One line."""
        verdict = "met" if self.milliseconds < self.bound else "MISSED"
        return f"{self.name}: {self.milliseconds:.2f} ms, wanted < {self.bound:g} ms: {verdict}"


def start_ms(environment: Mapping[str, str]) -> float:
    """Milliseconds that importing the package takes of a Python start."""
    command = [sys.executable, "-X", "importtime", "-c", "pass"]
    log = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    found = re.search(r"\| +(\d+) \| +mteb_ext$", log.stderr, re.MULTILINE)
    if found is None:
        raise SystemExit("a Python start does not import mteb_ext: install the package first")
    return int(found[1]) / 1000


def import_ms(environment: Mapping[str, str]) -> tuple[float, float]:
    """Milliseconds inside the hook while mteb is imported, and of the whole import."""
    command = [sys.executable, "-c", IMPORT_MTEB]
    printed = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    inside, whole = map(float, printed.stdout.split())
    return inside, whole


def fresh(measure: Callable[[Mapping[str, str]], object], repeats: int) -> list:
    """Measure in fresh processes, after one that fills the cache of bytecode."""
    kept = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryDirectory() as cache:
        environment = {**kept, "PYTHONPYCACHEPREFIX": cache, "MTEB_EXT_DISABLE": "0"}
        return [measure(environment) for _ in range(repeats + 1)][1:]


def main() -> None:
    """Print both costs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer processes")
    quick = parser.parse_args().quick
    starts = fresh(start_ms, 10 if quick else 50)
    imports = fresh(import_ms, 1 if quick else 5)
    print(Cost("at a Python start", median(starts), 1))
    print(Cost("added to import mteb", median(inside for inside, _ in imports), 50))
    print(f"import mteb takes {median(whole for _, whole in imports):,.0f} ms in all")


if __name__ == "__main__":
    main()
