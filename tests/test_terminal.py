"""What a user sees of the commands: the line that leads on, and what is shown of what was found."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

import pytest
from stock_tasks import write_predictions
from test_results import WIKIQA, write_result

from mteb_ext.cli import command_parser, main
from mteb_ext.cli.results_line import print_results_line

COSINE, COUNT = "mteb-ext/token-cosine", "mteb-ext/word-count"


@pytest.fixture(scope="module")
def two_models(tmp_path_factory):
    """An output folder: two models on samples, predictions kept; and the last line of the run."""
    folder = tmp_path_factory.mktemp("two models") / "out"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MTEB_EXT_OFFLINE", "1")
        tasks = ["WikiQA.sample", "TRECQA.sample"]
        run = ["run", "-m", COSINE, COUNT, "-t", *tasks, "--output-folder", str(folder)]
        assert main(run) == 0
    return folder


def printed_command(capsys):
    (line,) = capsys.readouterr().out.splitlines()
    where, _, command = line.partition(" Next: ")
    assert where.startswith("Results are in ")
    return shlex.split(command)


def test_the_command_after_a_run_works_as_printed(two_models, capsys):
    print_results_line(two_models, ["WikiQA.sample"])
    name, *arguments = printed_command(capsys)
    assert (name, arguments) == ("mteb-ext", ["compare", str(two_models)])
    assert main(arguments) == 0


def test_the_folder_where_one_is_has_a_name(two_models, monkeypatch, capsys):
    monkeypatch.chdir(two_models)
    print_results_line(Path(), ["WikiQA.sample"])
    said = capsys.readouterr().out
    assert said == "Results are in this folder. Next: mteb-ext compare .\n"


def test_the_command_after_a_run_of_one_model_is_a_report(tmp_path, capsys):
    write_result(tmp_path, "WikiQA", {"test": [WIKIQA]})
    write_predictions(tmp_path / "predictions/test__model/1", "WikiQA", {})
    print_results_line(tmp_path, ["WikiQA"])
    name, *arguments = printed_command(capsys)
    assert (name, arguments) == ("mteb-ext", ["report", str(tmp_path)])
    assert main(arguments) == 0


@pytest.mark.parametrize(
    ("task", "predictions", "expected"),
    [
        ("WikiQA", "kept", ["compare", "out", "kept"]),
        ("WikiQA", "out/kept", ["compare", "out"]),
        ("WikiQA", None, ["report", "out"]),  # none in the usual place
        ("Banking77Classification", "kept", ["report", "out"]),  # which cannot be compared
    ],
)
def test_the_command_names_where_predictions_are(
    tmp_path, monkeypatch, capsys, task, predictions, expected
):
    monkeypatch.chdir(tmp_path)
    for kept in ("kept", "out/kept"):
        for model in ("a", "b"):
            write_predictions(tmp_path / kept / model, task, {})
    print_results_line(Path("out"), [task], predictions and Path(predictions))
    assert printed_command(capsys) == ["mteb-ext", *expected]


@pytest.mark.parametrize("command", ["compare", "ties", "report", "verify"])
def test_the_inner_folder_is_the_output_folder(two_models, capsys, command):
    shown = []
    for folder in (two_models, two_models / "results"):
        main([command, str(folder), *(["--json"] if command == "verify" else [])])
        shown.append(capsys.readouterr().out)
    assert shown[0] == shown[1]
    assert len(shown[0].splitlines()) > 4


def test_predictions_beside_named_results_count_once(two_models, capsys):
    assert main(["compare", str(two_models / "results"), str(two_models / "predictions")]) == 0
    both = capsys.readouterr().out
    assert main(["compare", str(two_models)]) == 0
    assert capsys.readouterr().out == both


def test_results_without_predictions_say_what_to_do(tmp_path, capsys):
    out = tmp_path / "my results"
    write_result(out, "WikiQA", {"test": [WIKIQA]}, model=COSINE)
    for folder in (out, out / "results"):
        assert main(["compare", str(folder)]) == 1
        said = capsys.readouterr().err
        assert len(said.splitlines()) == 1
        assert "no prediction files here, only results" in said
        command = shlex.split(said.rpartition(": ")[2])
        given = ["-m", COSINE, "-t", "WikiQA", "--output-folder", str(out)]
        assert command == ["mteb-ext", "run", *given, "--overwrite-strategy", "always"]


def test_a_folder_without_anything_says_what_to_do(tmp_path, capsys):
    assert main(["compare", str(tmp_path)]) == 1
    assert f"mteb-ext run -m MODEL -t TASK --output-folder {tmp_path}" in capsys.readouterr().err


def commands():
    parser = command_parser()
    [found] = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    return found.choices


@pytest.mark.parametrize("name", commands())
def test_every_option_says_what_it_does_and_its_default(name):
    for action in commands()[name]._actions:
        assert action.help, action.dest
    shown = commands()[name].format_help()
    for action in commands()[name]._actions:
        if action.option_strings and action.default not in (
            None,
            False,
            True,
            [],
            {},
            "==SUPPRESS==",
        ):
            assert f"(default: {action.default})" in " ".join(shown.split()), action.dest


@pytest.mark.parametrize("name", commands())
def test_every_command_has_two_examples_that_parse(name):
    lines = commands()[name].epilog.splitlines()[1:]
    assert len(lines) == 2
    for line in lines:
        words = shlex.split(line.partition("|")[0])
        assert words[:2] == ["mteb-ext", name]
        command_parser().parse_args(words[1:])
