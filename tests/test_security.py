"""What SECURITY.md promises: files of strangers are read, and nothing in them is run."""

from __future__ import annotations

import ast
import io
import json
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest
from test_results import write_result

import mteb_ext
from mteb_ext import tasks
from mteb_ext.cli import main
from mteb_ext.data import readers
from mteb_ext.errors import ModelError, MtebExtError
from mteb_ext.formats.predictions import read_predictions
from mteb_ext.formats.stamp import read_stamp
from mteb_ext.running.models import ModelSpec
from mteb_ext.running.plan_files import read_plan

PACKAGE = Path(mteb_ext.__file__).parent
COSINE = "mteb-ext/token-cosine"

# What turns data into code, by the name that is called or imported.
RUNS_DATA = {
    *("eval", "exec", "compile", "__import__", "pickle", "cPickle", "dill", "cloudpickle"),
    *("marshal", "shelve", "joblib", "yaml", "jsonpickle", "xml", "lxml", "read_pickle"),
}
# Where a process is started: workers of a run, with functions of this package.
STARTS = {"subprocess": {"running/engines.py"}, "multiprocessing": set(), "os.system": set()}


def sources():
    for folder in (PACKAGE, *map(Path, tasks.__path__)):
        for file in sorted(folder.resolve().rglob("*.py")):
            yield file, ast.parse(file.read_text("utf-8"))


def used_names(tree):
    """The names that a module imports, and those that it calls."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield (node.module or "").partition(".")[0]
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name):
                yield node.func.id
            elif isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
                yield node.func.value.id
                yield f"{node.func.value.id}.{node.func.attr}"


@pytest.mark.slow
def test_no_module_turns_data_into_code():
    found = {}
    for file, tree in sources():
        names = set(used_names(tree))
        if bad := names & RUNS_DATA:
            found[file.name] = bad
        place = file.relative_to(PACKAGE).as_posix() if file.is_relative_to(PACKAGE) else file.name
        assert "torch.load" not in names, file
        assert "np.load" not in names, file
        for name, allowed in STARTS.items():
            assert name not in names or place in allowed, (file, name)
    # What the processes of one run say to each other.
    assert found == {"engines.py": {"pickle"}, "worker_process.py": {"pickle"}}


@pytest.fixture
def pickled(tmp_path):
    """Bytes that, unpickled, would make a file; and that file."""
    ran = tmp_path / "ran"

    class Payload:
        def __reduce__(self):
            return Path.touch, (ran,)

    return pickle.dumps(Payload()), ran


def archive(content):
    found = io.BytesIO()
    with zipfile.ZipFile(found, "w") as file:
        file.writestr("../outside.txt", "x")
        file.writestr("data.pkl", content)
    return found.getvalue()


@pytest.mark.parametrize("form", ["pickle", "npz", "zip"])
@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("WikiQA_predictions.json", read_predictions),
        ("WikiQA.stamp", read_stamp),
        ("plan.toml", read_plan),
        ("WikiQA.json", lambda path: mteb_ext.load_results(path.parent)),
        ("w.tsv", readers.read_wikiqa),
        ("q.jsonl.gz", readers.read_json_questions),
        ("d.xls", readers.read_xls_pairs),
    ],
)
def test_a_pickle_in_the_place_of_a_file_is_not_run(tmp_path, pickled, form, name, read):
    content, ran = pickled
    if form == "npz":
        held = io.BytesIO()
        np.savez(held, a=np.array([1, "x", None], dtype=object))
        content = held.getvalue() + content
    elif form == "zip":
        content = archive(content)
    path = tmp_path / "here" / name
    path.parent.mkdir()
    path.write_bytes(content)
    try:
        found = read(path)
    except MtebExtError:
        found = None
    assert found is None or found.empty
    assert not ran.exists()
    assert [*path.parent.iterdir()] == [path]
    assert not (tmp_path / "outside.txt").exists()


@pytest.mark.slow
def test_weights_that_are_a_pickle_are_not_run(tmp_path, pickled, minilm_folder):
    content, ran = pickled
    folder = tmp_path / "model"
    for file in minilm_folder.rglob("*"):
        target = folder / file.relative_to(minilm_folder)
        if file.is_file() and not file.name.endswith((".safetensors", ".bin")):
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(file.read_bytes())
    (folder / "pytorch_model.bin").write_bytes(content)
    with pytest.raises(ModelError, match="cannot be loaded"):
        mteb_ext.load_model(folder, device="cpu")
    assert not ran.exists()
    out = str(tmp_path / "out")
    assert main(["run", "-m", str(folder), "-t", "WikiQA.sample", "--output-folder", out]) == 1
    assert not ran.exists()


@pytest.mark.parametrize(
    "options",
    [
        {"trust_remote_code": True},
        {"model_kwargs": {"trust_remote_code": True}},
        {"a": [{"trust_remote_code": "yes"}]},
    ],
)
def test_no_option_gives_trust_but_the_flag(options, tmp_path):
    for model in (str(tmp_path), "somebody/model"):
        with pytest.raises(ModelError, match="--trust-remote-code"):
            ModelSpec(model, model_kwargs=options).check()
    ModelSpec("somebody/model", model_kwargs=options, trust_remote_code=True).check()
    ModelSpec("somebody/model", model_kwargs={"trust_remote_code": False}).check()


def test_a_plan_alone_gives_no_trust(tmp_path, capsys):
    plan = tmp_path / "plan.toml"
    plan.write_text(
        f'tasks = ["WikiQA.sample"]\n[[models]]\nmodel = "{COSINE}"\ntrust_remote_code = true\n'
    )
    arguments = ["run", "--plan", str(plan), "--dry-run", "--output-folder", str(tmp_path / "o")]
    assert main(arguments) == 1
    assert "the plan wants to run code that comes with mteb-ext/token-cosine" in (
        capsys.readouterr().err
    )
    assert main([*arguments, "--trust-remote-code"]) == 0


@pytest.mark.parametrize("revision", ["../../x", "/x", "..", "a/b", "", "a\nb"])
def test_no_revision_leads_out_of_the_output_folder(revision, tmp_path):
    with pytest.raises(ModelError, match="cannot be the name of a folder"):
        ModelSpec("somebody/model", revision=revision).check()
    ModelSpec("somebody/model", revision="8b3219a9").check()


@pytest.mark.parametrize("name", ["../../x", "/x/y", "a", "a/b/c", "a /b"])
def test_no_name_leads_out_of_the_output_folder(name, tmp_path):
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ModelError, match="is not like organisation/model"):
        ModelSpec(str(tmp_path), name=name).check()


EVIL = "\x1b]0;t\x07[red]x[/red]<script>alert(1)</script>\u202e=cmd()"


@pytest.mark.slow
def test_names_in_results_are_shown_and_do_nothing(tmp_path, capsys):
    entry = {"hf_subset": EVIL, "main_score": 0.5}
    path = write_result(tmp_path, "NoSuchTask", {EVIL: [entry]}, model="a/b", data=EVIL)
    meta = {"name": EVIL, "revision": EVIL, "experiment_kwargs": {EVIL: EVIL}}
    path.with_name("model_meta.json").write_text(json.dumps(meta))
    assert main(["report", str(tmp_path)]) == 0
    for shown in capsys.readouterr():
        assert "\x1b" not in shown
        assert "\x07" not in shown
        assert "\u202e" not in shown
    assert main(["report", str(tmp_path), "-o", str(tmp_path / "page.html")]) == 0
    assert "<script>alert(1)" not in (tmp_path / "page.html").read_text("utf-8")


@pytest.mark.slow
def test_folders_that_end_a_path_are_hostile_names_only(tmp_path, capsys):
    place = tmp_path / "results" / "a__..%2f..%2fetc" / "1"
    place.mkdir(parents=True)
    content = {"task_name": "x", "dataset_revision": "1", "scores": {"test": [ENTRY]}}
    (place / "x.json").write_text(json.dumps(content))
    assert main(["report", str(tmp_path)]) == 0
    assert "a/..%2f..%2fetc" in capsys.readouterr().out


ENTRY = {"hf_subset": "default", "main_score": 0.5}


def test_the_start_up_file_imports_the_package_and_does_nothing_else():
    site = Path(__file__).parents[1] / "scripts" / "site"
    assert (site / "mteb-ext.start").read_text() == "mteb_ext._autoload:install\n"
    (line,) = (site / "mteb-ext.pth").read_text().splitlines()
    outer = ast.parse(line)
    assert [type(node) for node in outer.body] == [ast.Import, ast.Expr]
    call = outer.body[1].value
    assert call.func.id == "exec"
    (inner,) = ast.parse(ast.literal_eval(call.args[0])).body
    assert ast.unparse(inner) == "try:\n    import mteb_ext\nexcept ImportError:\n    pass"
