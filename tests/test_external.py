"""A package of somebody else's (tests/external), installed beside ours, and gone again."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

pytestmark = pytest.mark.process

EXTERNAL = Path(__file__).parent / "external"
LISTED = """
import mteb
names = [t.metadata.name for t in mteb.get_tasks(languages=["eng"], task_types=["STS"])]
print(*(names.count(name) for name in ("CookingSTS", "CookingPlainSTS", "STSBenchmarkSemEval")))
print("cooking/letters" in [meta.name for meta in mteb.get_model_metas()])
print("Cooking" in [benchmark.name for benchmark in mteb.get_benchmarks()])
"""


@pytest.fixture
def fresh(tmp_path):
    """An environment that sees this one's packages; runs its Python."""
    python = tmp_path / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    site = Path(sysconfig.get_path("purelib", vars={"base": str(tmp_path / "venv")}))
    here = sysconfig.get_path("purelib")
    (site / "here.pth").write_text(f"import site; site.addsitedir({here!r})\n")

    def run(*arguments, by=(python,), **environment):
        done = subprocess.run(
            [*by, *map(str, arguments)],
            cwd=tmp_path,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done

    run.pip = (sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check")
    run.site = site
    return run


def test_installed_listed_run_reported_and_uninstalled(fresh, tmp_path):
    before = sorted(fresh.site.iterdir())
    shutil.copytree(EXTERNAL, tmp_path / "package")
    offline = importlib.util.find_spec("hatchling") is not None
    options = ["--no-build-isolation", "--no-index"] if offline else []
    fresh("install", "--no-deps", *options, tmp_path / "package", by=fresh.pip)

    listed = fresh("-c", LISTED)
    assert listed.stdout.splitlines() == ["1 1 1", "True", "True"]
    skipped = [line for line in listed.stderr.splitlines() if "mteb_ext" in line]
    assert len(skipped) == 1
    assert "Unfinished of entry point 'unfinished'" in skipped[0]

    data = fresh.site / "cooking_tasks" / "samples"
    arguments = ("-m", "cooking/letters", "-b", "Cooking", "--output-folder", "results")
    fresh("-m", "mteb", "run", *arguments, MTEB_EXT_DATA=str(data))
    files = sorted(path.name for path in (tmp_path / "results").rglob("Cooking*.json"))
    assert files == ["CookingPlainSTS.json", "CookingSTS.json"]
    reported = fresh("-m", "mteb_ext", "report", "results").stdout
    assert "CookingSTS" in reported
    assert "cooking/letters" in reported

    fresh("uninstall", "--yes", "cooking-tasks", by=fresh.pip)
    assert sorted(fresh.site.iterdir()) == before
    gone = fresh("-c", LISTED)
    assert gone.stdout.splitlines() == ["0 0 1", "False", "False"]
    assert "mteb_ext" not in gone.stderr


def test_the_switch_is_off_for_all(fresh, tmp_path):
    folder = tmp_path / "mine"
    shutil.copytree(EXTERNAL / "cooking_tasks", folder)
    seen = fresh("-c", LISTED, MTEB_EXT_PATH=str(folder))
    assert seen.stdout.splitlines()[:2] == ["1 1 1", "True"]
    off = fresh("-c", LISTED, MTEB_EXT_PATH=str(folder), MTEB_EXT_DISABLE="1")
    assert off.stdout.splitlines() == ["0 0 0", "False", "False"]
    assert off.stderr == ""
