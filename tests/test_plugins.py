"""Discovery of tasks: what is not ready is skipped, and named in one line of the log."""

from __future__ import annotations

import logging
import os
import re
import textwrap
from importlib.metadata import EntryPoint, EntryPoints

import pytest

from mteb_ext.errors import DataError
from mteb_ext.plugin import discovery

GOOD = """
    from mteb_ext.tasks.wikiqa import WikiQA

    class Mine(WikiQA):
        metadata = WikiQA.metadata.model_copy(update={"name": "MyWikiQA"})
    """


def name_of(found):
    return found.metadata.name if isinstance(found, type) else found.name


@pytest.fixture
def discovered(tmp_path, monkeypatch, caplog):
    """The names of the tasks in files, and the lines of the log, without the usual cache."""

    def discover(*, path=None, entry_points=(), kind=discovery.plugin_tasks, **files):
        for name, code in files.items():
            (tmp_path / f"{name}.py").write_text(textwrap.dedent(code), encoding="utf-8")
        monkeypatch.setenv("MTEB_EXT_PATH", path or str(tmp_path))
        monkeypatch.setattr(discovery, "entry_points", EntryPoints(entry_points).select)
        monkeypatch.setattr(discovery, "_path_modules", discovery._path_modules.__wrapped__)
        with caplog.at_level(logging.WARNING, "mteb_ext"):
            found = kind.__wrapped__()
        return [name_of(one) for one in found], [r.getMessage() for r in caplog.records]

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


def test_what_is_printed_at_import_goes_to_standard_error(discovered, capsys):
    names, lines = discovered(loud="print('hello')\n" + textwrap.dedent(GOOD))
    assert (names, lines) == (["MyWikiQA"], [])
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "hello\n")


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
    (tmp_path / "sub").mkdir()
    twice = os.pathsep.join([str(tmp_path), f"{tmp_path}{os.sep}", str(tmp_path / "sub" / "..")])
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


@pytest.mark.slow
def test_a_slow_plugin_is_named(discovered, monkeypatch):
    monkeypatch.setattr(discovery, "SLOW_SECONDS", 1.0)
    names, [line] = discovered(slow="import time\ntime.sleep(1.01)\n" + textwrap.dedent(GOOD))
    assert names == ["MyWikiQA"]
    assert re.search(r"slow\.py took \d\.\d s to load", line)


MODEL = """
    from mteb.models import ModelMeta

    mine = ModelMeta.create_empty(overwrites={"name": "mine/model", "revision": "1"})
    """.replace("    ", "")
BENCHMARK = """
    from mteb.benchmarks import Benchmark
    from mteb_ext.tasks.wikiqa import WikiQA

    mine = Benchmark(name="Mine", tasks=[WikiQA()])
    """.replace("    ", "")


@pytest.mark.parametrize("name", ["../../x", "", "a/b", "a\nb", "x" * 300, ".hidden", "CON:", "a "])
def test_a_task_whose_name_cannot_name_a_file(discovered, name):
    code = f"""
        from mteb_ext.tasks.wikiqa import WikiQA

        class Mine(WikiQA):
            metadata = WikiQA.metadata.model_copy(update={{"name": {name!r}}})
    """
    names, [line] = discovered(bad=code)
    assert names == []
    assert "the name" in line


@pytest.mark.parametrize(
    ("kind", "code", "name"),
    [
        (discovery.plugin_models, MODEL, "mine/model"),
        (discovery.plugin_benchmarks, BENCHMARK, "Mine"),
    ],
)
def test_models_and_benchmarks(discovered, kind, code, name):
    assert discovered(kind=kind, mine=code, tasks=GOOD, bad="raise SystemError")[0] == [name]


@pytest.mark.parametrize(
    ("kind", "code", "reason"),
    [
        (
            discovery.plugin_models,
            MODEL + "object.__setattr__(mine, 'name', None)",
            "name is empty",
        ),
        (discovery.plugin_models, MODEL + "object.__setattr__(mine, 'name', '../x')", "with a dot"),
        (discovery.plugin_benchmarks, BENCHMARK + "mine.name = 'a\\nb'", "contains '\\n'"),
        (discovery.plugin_benchmarks, BENCHMARK + "mine.tasks = ['WikiQA']", "'WikiQA' among"),
        (discovery.plugin_benchmarks, BENCHMARK + "mine.tasks = None", "TypeError"),
    ],
)
def test_models_and_benchmarks_that_are_not_ready(discovered, kind, code, reason):
    names, [line] = discovered(kind=kind, bad=code)
    assert names == []
    assert "mine of " in line
    assert "bad.py" in line
    assert reason in line


@pytest.mark.parametrize(
    ("kind", "group", "target", "what"),
    [
        (
            discovery.plugin_models,
            "mteb_ext.models",
            "mteb_ext.baselines.word_count:WORD_COUNT",
            None,
        ),
        (
            discovery.plugin_models,
            "mteb_ext.models",
            "os:getcwd",
            "neither a ModelMeta nor a module",
        ),
        (
            discovery.plugin_benchmarks,
            "mteb_ext.benchmarks",
            "os:getcwd",
            "neither a Benchmark nor",
        ),
    ],
)
def test_entry_points_of_the_other_groups(discovered, kind, group, target, what):
    points = [EntryPoint("mine", target, group), EntryPoint("no", "nowhere", "mteb_ext.tasks")]
    names, lines = discovered(kind=kind, entry_points=points)
    if what is None:
        assert (names, lines) == (["mteb-ext/word-count"], [])
    else:
        assert names == []
        assert what in lines[0]


def test_a_plugin_with_samples_beside_its_file_has_a_sample_task(discovered, tmp_path, monkeypatch):
    task = """
        from mteb_ext.data.readers import read_wikiqa
        from mteb_ext.tasks.wikiqa import WikiQA

        class Mine(WikiQA):
            metadata = WikiQA.metadata.model_copy(update={"name": "MyWikiQA"})

            @classmethod
            def read(cls, source, split, subset):
                return read_wikiqa(source.own(f"mine/{split}.tsv", "Ask."))
        """
    rows = [["Q1", "who", "D1", "t", f"D1-{i}", f"text {i}", "01"[i]] for i in range(2)]
    header = ["QuestionID", "Question", "DocumentID", "DocumentTitle", "SentenceID", "Sentence"]
    (tmp_path / "samples" / "mine").mkdir(parents=True)
    text = "\n".join("\t".join(row) for row in [[*header, "Label"], *rows])
    (tmp_path / "samples" / "mine" / "test.tsv").write_text(text + "\n")
    kept = []
    monkeypatch.setattr(discovery, "_checked", lambda kind, value: kept.append(value) or value)
    assert discovered(mine=task) == (["MyWikiQA"], [])
    [twin] = discovery.samples_of(kept)
    assert twin.metadata.name == "MyWikiQA.sample"
    [question] = twin.load("test")[0]
    assert question.candidates == ["text 0", "text 1"]
    with pytest.raises(DataError, match=r"the sample of mine/dev\.tsv, does not exist\. Ask"):
        twin.load("dev")


def test_a_plugin_without_samples_has_none(discovered, monkeypatch):
    kept = []
    monkeypatch.setattr(discovery, "_checked", lambda kind, value: kept.append(value) or value)
    discovered(mine=GOOD)
    assert list(discovery.samples_of(kept)) == []
