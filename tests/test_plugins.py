"""Discovery of tasks: what is not ready is skipped, and named in one line of the log."""

from __future__ import annotations

import logging
import os
import textwrap
from importlib.metadata import EntryPoint

import pytest

from mteb_ext import plugins

GOOD = """
    from mteb_ext.tasks.wikiqa import WikiQA

    class Mine(WikiQA):
        metadata = WikiQA.metadata.model_copy(update={"name": "MyWikiQA"})
    """


@pytest.fixture
def discovered(tmp_path, monkeypatch, caplog):
    """The names of the tasks in files, and the lines of the log, without the usual cache."""

    def discover(*, path=None, entry_points=(), **files):
        for name, code in files.items():
            (tmp_path / f"{name}.py").write_text(textwrap.dedent(code), encoding="utf-8")
        monkeypatch.setenv("MTEB_EXT_PATH", path or str(tmp_path))
        monkeypatch.setattr(plugins, "entry_points", lambda group: entry_points)
        with caplog.at_level(logging.WARNING, "mteb_ext"):
            tasks = plugins.plugin_tasks.__wrapped__()
        return [t.metadata.name for t in tasks], [r.getMessage() for r in caplog.records]

    return discover


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("raise SystemError('broken')", "SystemError: broken"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("import pytest; pytest.skip('not here', allow_module_level=True)", "not here"),
        ("class Panic(BaseException): pass\nraise Panic('rust')", "rust"),
        ("def f(:", "SyntaxError: invalid syntax"),
        ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
    ],
)
def test_a_file_that_cannot_be_imported(discovered, code, reason):
    names, [line] = discovered(bad=code, good=GOOD)
    assert names == ["MyWikiQA"]
    assert "bad.py" in line
    assert reason in line
    assert "\n" not in line


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("metadata = None", "its metadata is None"),
        ("metadata = property(lambda self: 1)", "not a TaskMetadata"),
        (
            "metadata = WikiQA.metadata\n    def __init__(self): raise OSError('no file')",
            "OSError: no file",
        ),
        ("metadata = WikiQA.metadata.model_copy(update={'eval_langs': None})", "TypeError"),
    ],
)
def test_a_class_that_mteb_could_not_list(discovered, body, reason):
    bad = f"""
from mteb.abstasks.retrieval import AbsTaskRetrieval
from mteb_ext.tasks.wikiqa import WikiQA

class Bad(AbsTaskRetrieval):
    {body}
"""
    names, [line] = discovered(both=bad + textwrap.dedent(GOOD))
    assert names == ["MyWikiQA"]  # the other class of the same file
    assert "Bad of " in line
    assert "both.py" in line
    assert reason in line


def test_a_definition_that_contradicts_its_protocol(discovered):
    wrong = """
        from mteb_ext.tasks.jacsts import JACSTS

        class Wrong(JACSTS):
            metadata = JACSTS.metadata.model_copy(update={"main_score": "pearson"})
        """
    names, [line] = discovered(wrong=wrong)
    assert names == []
    assert "wrong.py" in line
    assert "the protocol's headline is 'spearman'" in line


def test_only_an_interrupt_passes(discovered):
    with pytest.raises(KeyboardInterrupt):
        discovered(stopped="raise KeyboardInterrupt")


@pytest.mark.parametrize("entry", ["~nosuchuser", "nowhere", "mine/good.py"])
def test_an_entry_of_the_path_that_cannot_be_read(discovered, tmp_path, entry):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "good.py").write_text(textwrap.dedent(GOOD))
    bad = entry if entry.startswith("~") else str(tmp_path / entry)
    names, [line] = discovered(path=os.pathsep.join([bad, "", str(tmp_path / "mine")]))
    assert names == ["MyWikiQA"]
    assert f"the folder {bad} in MTEB_EXT_PATH" in line


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
def test_a_folder_without_permission(discovered, tmp_path):
    (tmp_path / "closed").mkdir(mode=0)
    names, [line] = discovered(path=str(tmp_path / "closed"))
    assert names == []
    assert "PermissionError" in line


def test_a_folder_that_is_named_twice_is_read_once(discovered, tmp_path):
    twice = os.pathsep.join([str(tmp_path), f"{tmp_path}{os.sep}", str(tmp_path / "." / "")])
    assert discovered(path=twice, good=GOOD) == (["MyWikiQA"], [])


def test_a_file_that_begins_with_an_underscore_is_not_read(discovered):
    assert discovered(_bad="raise SystemError", good=GOOD) == (["MyWikiQA"], [])


@pytest.mark.parametrize(
    ("target", "names", "reason"),
    [
        ("mteb_ext.tasks.wikiqa", ["WikiQA"], None),
        ("mteb_ext.tasks.wikiqa:WikiQA", ["WikiQA"], None),
        ("string", [], None),  # a module without tasks is nothing wrong
        ("os:getcwd", [], "neither a task class nor a module"),
        ("nowhere:Task", [], "No module named 'nowhere'"),
        ("os:nothing", [], "has no attribute 'nothing'"),
    ],
)
def test_entry_points(discovered, target, names, reason):
    found, lines = discovered(entry_points=[EntryPoint("mine", target, "mteb_ext.tasks")])
    assert found == names
    if reason is None:
        assert lines == []
    else:
        assert f"entry point 'mine' ({target})" in lines[0]
        assert reason in lines[0]


def test_a_class_that_two_entry_points_name_is_one_task(discovered):
    both = ["mteb_ext.tasks.wikiqa", "mteb_ext.tasks.wikiqa:WikiQA"]
    points = [EntryPoint(target, target, "mteb_ext.tasks") for target in both]
    assert discovered(entry_points=points) == (["WikiQA"], [])


def test_a_slow_plugin_is_named(discovered, monkeypatch):
    monkeypatch.setattr(plugins, "SLOW_SECONDS", 0.05)
    names, [line] = discovered(slow="import time\ntime.sleep(0.06)\n" + textwrap.dedent(GOOD))
    assert names == ["MyWikiQA"]
    assert "slow.py took 0.1 s to load" in line
