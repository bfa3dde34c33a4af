"""``mteb-ext new``: what it writes, and that it runs as it stands."""

from __future__ import annotations

import ast
import os
import subprocess
import sys

import pytest

from mteb_ext.cli import main


@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("CookingSTS", "cooking_sts"),
        ("WMT25Metrics", "wmt25_metrics"),
        ("STSOfRecipes", "sts_of_recipes"),
        ("Recipes", "recipes"),
    ],
)
@pytest.mark.parametrize("kind", ["sts", "ranking"])
def test_three_files_that_hold_the_name(tmp_path, capsys, name, module, kind):
    assert main(["new", name, "--kind", kind, "-o", str(tmp_path)]) == 0
    written = [tmp_path / f"{module}.py", tmp_path / f"samples/{module}/test.tsv"]
    written.append(tmp_path / f"tests/test_{module}.py")
    assert sorted(p for p in tmp_path.rglob("*") if p.is_file()) == sorted(written)
    assert capsys.readouterr().out.splitlines()[:3] == [str(path) for path in written]

    classes = [
        n.name for n in ast.parse(written[0].read_text()).body if isinstance(n, ast.ClassDef)
    ]
    assert classes == [name]
    text = "".join(path.read_text() for path in written)
    assert "$" not in text
    assert f'source.own(f"{module}/{{split}}.tsv"' in text


def test_nothing_is_overwritten(tmp_path, capsys):
    (tmp_path / "samples/cooking_sts").mkdir(parents=True)
    mine = tmp_path / "samples/cooking_sts/test.tsv"
    mine.write_text("mine")
    assert main(["new", "CookingSTS", "--kind", "sts", "-o", str(tmp_path)]) == 1
    assert f"{mine} is there already, and nothing was written" in capsys.readouterr().err
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == [mine]


@pytest.mark.parametrize("name", ["cooking", "Cooking STS", "Cooking-STS", "../Up", "Ünder", ""])
def test_a_name_that_is_none(tmp_path, capsys, name):
    assert main(["new", name, "--kind", "sts", "-o", str(tmp_path)]) == 1
    assert f"{name!r} is no name for a task" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert main(["new", "CookingSTS", "--kind", "sts", "-o", str(tmp_path / "file")]) == 1
    assert "cannot be written" in capsys.readouterr().err


@pytest.mark.process
def test_what_it_writes_runs_as_it_stands(tmp_path):
    for name, kind in (("CookingSTS", "sts"), ("CookingSearch", "ranking")):
        assert main(["new", name, "--kind", kind, "-o", str(tmp_path)]) == 0
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path / "tests")],
        env={**os.environ, "MTEB_EXT_PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "2 passed" in done.stdout, done.stdout
    assert "mteb_ext skips" not in done.stdout + done.stderr
