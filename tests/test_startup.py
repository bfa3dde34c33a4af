"""What the commands import: a sentence needs no mteb, and nothing but a run needs torch."""

from __future__ import annotations

import json
import subprocess
import sys

import mteb
import pytest
from conftest import ToyEncoder, spread

pytestmark = pytest.mark.process

HEAVY = ("mteb", "numpy", "pandas", "pyarrow", "rich", "scipy", "torch")
RUN = """
import contextlib, io, json, sys
from mteb_ext.cli import main

shown = {}
for arguments in json.loads(sys.argv[1]):
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        try:
            status = main(arguments)
        except SystemExit as ended:
            status = ended.code
    shown[" ".join(arguments)] = status, sorted(name for name in sys.modules if "." not in name)
print(json.dumps(shown))
"""


def imported_by(*commands):
    """The status of each command of one process, and the packages that are there after it."""
    words = [command.split() for command in commands]
    done = subprocess.run(
        [sys.executable, "-c", RUN, json.dumps(words)], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def test_what_is_one_sentence_needs_no_mteb(tmp_path):
    nowhere = tmp_path / "nowhere"
    found = imported_by(
        "--version",
        "--help",
        "report --help",
        "reprot",
        "report --publshed",
        *(f"{command} {nowhere}" for command in ("report", "compare", "ties", "verify")),
        f"leaderboard {nowhere} -o {tmp_path / 'site'}",
        f"run -m {nowhere} -t WikiQA",
        f"run -m {tmp_path} -t WikiQA",
    )
    for command, (_, modules) in found.items():
        assert not set(HEAVY) & set(modules), command
    assert [status for status, _ in found.values()] == [0, 0, 0, 2, 2, *[1] * 7]


@pytest.fixture
def results(tmp_path, no_data):
    """A folder of results and predictions of two samples."""
    place = tmp_path / "results"
    mteb.evaluate(
        ToyEncoder(spread),
        mteb.get_tasks(tasks=["WikiQA.sample", "STSBenchmarkSemEval.sample"]),
        cache=mteb.ResultCache(place),
        prediction_folder=place / "predictions",
        encode_kwargs={"show_progress_bar": False},
    )
    return place


def test_reading_results_needs_no_torch(results, tmp_path):
    found = imported_by(
        f"report {results}",
        f"report {results} -o {tmp_path / 'page.html'}",
        f"ties {results}",
        f"compare {results}",
        f"verify {results}",
        f"leaderboard {results} -o {tmp_path / 'site'}",
        "tasks",
        "fetch WikiQA.sample",
    )
    for command, (_, modules) in found.items():
        assert not {"torch", "transformers", "sentence_transformers"} & set(modules), command
    assert {status for status, _ in found.values()} <= {0, 1}  # none was called wrongly
