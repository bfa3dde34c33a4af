"""mteb's own leaderboard: our benchmarks in its menus and in its API, from a results repository.

The API's packages are those of the extra ``mteb[api]``, which the test extra does not install.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from importlib.util import find_spec

import mteb
import pytest
from mteb.benchmarks.benchmark import CustomGrouping

from mteb_ext.cli import main
from mteb_ext.plugin.registries import MENU

NAMES = ["JapaneseSTSIR", "TANDA-AS2", "SemEval2017-STS", "WMT17-Metrics", "mteb-ext"]
REPOSITORY = "https://github.com/embeddings-benchmark/results"


@pytest.mark.parametrize("menu", ["GP_BENCHMARK_ENTRIES", "HOME_BENCHMARK_ENTRIES"])
def test_our_benchmarks_are_in_the_menus(menu):
    entries = vars(importlib.import_module("mteb.benchmarks._leaderboard_menu"))[menu]
    (ours,) = [entry for entry in entries if entry.name == MENU]
    assert [benchmark.name for benchmark in ours.benchmarks][: len(NAMES)] == NAMES


def test_no_benchmark_averages_over_tasks():
    """The headlines are shown side by side."""
    for name in NAMES:
        benchmark = mteb.get_benchmark(name)
        assert benchmark.display_on_leaderboard
        (column,) = benchmark.aggregations
        assert isinstance(column, CustomGrouping)
        assert [len(group.tasks) for group in column.groups] == [1] * len(benchmark.tasks)


ASK = """
import json, sys
import mteb_ext
from fastapi.testclient import TestClient
from mteb.api.app import app

with TestClient(app) as client:
    print(json.dumps({path: client.get(f"/v1/{path}").json() for path in sys.argv[1:]}))
"""


@pytest.mark.process
@pytest.mark.mteb_api
@pytest.mark.skipif(find_spec("fastapi") is None, reason="needs fastapi: pip install 'mteb[api]'")
def test_the_api_shows_a_results_repository_of_ones_own(tmp_path):
    """git is told to take ours for mteb's; nothing else is asked for (docs/LEADERBOARD.md)."""
    place = tmp_path / "repository"
    for model in ("token-cosine", "word-count", "sentence-bleu"):
        folder = place / "results" / f"mteb-ext__{model}" / "1"
        run = ["run", "-m", f"mteb-ext/{model}", "-t", "TRECQA.sample", "WikiQA.sample"]
        assert main([*run, "--output-folder", str(place), "--no-predictions"]) == 0
        for path in folder.glob("*.sample.json"):  # as if they were on the papers' data
            name = path.name.replace(".sample", "")
            result = json.loads(path.read_text())
            result["task_name"] = name.removesuffix(".json")
            (folder / name).write_text(json.dumps(result))
            path.unlink()
    for command in (["init", "-q"], ["add", "results"], ["commit", "-qm", "Results"]):
        author = ["-c", "user.name=test", "-c", "user.email=test@example.org"]
        subprocess.run(["git", *author, *command], cwd=place, check=True)
    environment = {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.{place.as_uri()}.insteadOf",
        "GIT_CONFIG_VALUE_0": REPOSITORY,
        "MTEB_CACHE": str(tmp_path / "cache"),
        "CACHE_REPO": "",
        "DISK_CACHE": "0",
    }
    (tmp_path / "cache").mkdir()
    paths = ["benchmarks/menu", "benchmarks", "benchmarks/TANDA-AS2/scores"]
    done = subprocess.run(
        [sys.executable, "-c", ASK, *paths],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    answers = json.loads(done.stdout.splitlines()[-1])
    (ours,) = [entry for entry in answers["benchmarks/menu"] if entry["name"] == MENU]
    assert [child["name"] for child in ours["children"]][: len(NAMES)] == NAMES
    assert set(NAMES) <= {benchmark["name"] for benchmark in answers["benchmarks"]}
    rows = answers["benchmarks/TANDA-AS2/scores"]["rows"]
    assert sorted(row["model"]["name"] for row in rows) == [
        "mteb-ext/sentence-bleu",
        "mteb-ext/token-cosine",
        "mteb-ext/word-count",
    ]
    for row in rows:
        assert set(row["scoresByCustomGroup"]["Headline"]) == {"WikiQA (map)", "TRECQA (map)"}
        assert row["meanTask"] == row["rank"]  # mteb gives no mean: the rank stands in its field
