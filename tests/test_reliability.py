"""The tests that docs/RELIABILITY.md and SECURITY.md name are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
HERE = ROOT / "tests"


def named_tests(document):
    """Each test that a document names in code, with the file that a section says or the name."""
    default = None
    for line in (ROOT / document).read_text("utf-8").splitlines():
        if found := re.search(r"[Tt]ests are in `tests/(test_\w+\.py)`", line):
            default = found[1]
        if found := re.search(r"\(`tests/(test_\w+\.py)` where nothing else is said\)", line):
            default = found[1]
        for name in re.findall(r"`([^`]+)`", line):
            if found := re.fullmatch(r"(?:(test_\w+\.py)::)?(test_\w+)(…?)(?:\[.*\])?", name):
                yield found[1] or default, found[2], bool(found[3])


@pytest.mark.parametrize(
    ("document", "at_least"), [("docs/RELIABILITY.md", 150), ("SECURITY.md", 15)]
)
def test_every_test_that_is_named_is_there(document, at_least):
    n_named = 0
    for file, name, cut in named_tests(document):
        n_named += 1
        defined = re.findall(r"^def (test_\w+)\(", (HERE / file).read_text("utf-8"), re.MULTILINE)
        there = any(test.startswith(name) for test in defined) if cut else name in defined
        assert there, f"{document} names {name} of {file}"
    assert n_named >= at_least


def test_a_name_that_is_no_test_is_found(tmp_path, monkeypatch):
    (tmp_path / "doc.md").write_text("Tests are in `tests/test_cli.py`.\n| a | `test_nothing` |\n")
    monkeypatch.setattr("test_reliability.ROOT", tmp_path)
    with pytest.raises(AssertionError, match=r"doc\.md names test_nothing of test_cli\.py"):
        test_every_test_that_is_named_is_there("doc.md", 1)
