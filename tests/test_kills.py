"""A short run of scripts/kill_test.py: two kills each."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "scripts"))
import kill_test


@pytest.mark.process
def test_fetch_and_run_are_killed_and_complete():
    done = subprocess.run(
        [sys.executable, kill_test.__file__, "--kills", "2", "--seed", "7"],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    rows = [line.split("|")[1:-1] for line in done.stdout.splitlines() if line.startswith("| `")]
    assert [row[0].strip() for row in rows] == ["`fetch`", "`run`"]
    assert [row[-1].strip() for row in rows] == ["2 of 2"] * 2
    assert any(int(row[2].split()[0]) for row in rows)  # a kill hit


@pytest.mark.process
def test_what_is_left_differently_is_a_fault(tmp_path, monkeypatch):
    def once(folder, host):
        folder.mkdir(exist_ok=True)
        with (folder / "a").open("a") as file:
            file.write("x")  # a command that adds to what it finds
        return 0

    monkeypatch.setitem(kill_test.COMMANDS, "fetch", once)
    monkeypatch.setattr(kill_test.Random, "uniform", lambda self, low, high: 0.5)
    outcome = kill_test.kill_at_random("fetch", 1, 0, tmp_path, "")
    assert outcome.faults == ["fetch killed after 0.50 s then left another a"]
    assert outcome.killed == 0  # it had ended
