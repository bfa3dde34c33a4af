"""The Python door: every example in its docstrings runs, on made-up rows."""

from __future__ import annotations

import doctest
import inspect
from pathlib import Path

import pytest

import mteb_ext

FUNCTIONS = sorted(name for name in mteb_ext.__all__ if inspect.isfunction(getattr(mteb_ext, name)))


@pytest.mark.slow
def test_every_example_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runner, finder = doctest.DocTestRunner(), doctest.DocTestFinder(recurse=False)
    for name in sorted(set(FUNCTIONS) - {"verify_results"}, key="run".__ne__):  # run comes first
        [found] = finder.find(getattr(mteb_ext, name), name, globs={})
        assert found.examples, f"{name} has no example"
        assert runner.run(found).failed == 0, name
    shown = mteb_ext.compare("results")._repr_html_()
    assert "<table" in shown
    assert "mteb-ext/token-cosine" in shown


def test_no_function_shares_its_name_with_a_room():
    rooms = {path.stem for path in Path(mteb_ext.__file__).parent.iterdir()}
    assert {"run", "compare", "leaderboard", "ties"} <= set(FUNCTIONS)
    assert not rooms & set(FUNCTIONS)
