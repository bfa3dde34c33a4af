"""What README and the guides print: every command parses, and the README's output is real."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from mteb_ext.cli import command_parser, main

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(?:sh|bash)\n(.*?)^```", re.MULTILINE | re.DOTALL)
README = (ROOT / "README.md").read_text("utf-8")


def commands(page: Path) -> list[str]:
    """The lines of a page's shell blocks that call mteb-ext, without comments."""
    blocks = BLOCK.findall(page.read_text("utf-8"))
    lines = "\n".join(blocks).replace("\\\n", " ").splitlines()
    return [line for line in lines if line.startswith("mteb-ext ")]


COMMANDS = [(page.name, line) for page in PAGES for line in commands(page)]


def test_the_pages_show_every_command():
    shown = {shlex.split(line, comments=True)[1] for _, line in COMMANDS}
    assert shown >= set(re.findall(r"^    ([a-z]+)\b", command_parser().format_help(), re.M))


@pytest.mark.parametrize(("page", "line"), COMMANDS)
def test_a_command_that_a_page_shows_parses(page, line):
    words = shlex.split(re.sub(r"\$\w+", "1", line), comments=True)[1:]
    cut = next((at for at, word in enumerate(words) if word in {"|", "&&", ">", "&"}), None)
    command_parser().parse_args(words[:cut])


def test_the_readme_is_short():
    assert len(README.splitlines()) <= 120


@pytest.mark.slow
@pytest.mark.models
@pytest.mark.real_data
def test_the_readmes_output_is_what_its_commands_print(
    tmp_path, minilm_folder, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    tasks = ["-t", "JACSTS", "QABot", "WikiQA"]
    name = ["--name", "sentence-transformers/all-MiniLM-L6-v2"]
    assert main(["run", "-m", "mteb-ext/token-cosine", "mteb-ext/sentence-bleu", *tasks]) == 0
    assert main(["run", "-m", str(minilm_folder), *name, *tasks]) == 0
    printed = capsys.readouterr().out.splitlines()
    run, compared = re.findall(r"^```text\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    assert list(filter(None, map(cell, run.splitlines()))) == list(filter(None, map(cell, printed)))
    assert run.splitlines()[-1] == printed[-1]
    assert main(["compare", "results"]) == 0
    printed = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    shown = compared.splitlines()
    assert [line for line in printed if line in shown] == shown


def cell(line: str) -> str:
    """The model, task and score of a settled cell, without its number and time."""
    found = re.match(r"\[\s*\d+/\d+\] (.*?(?: \d\.\d{4}|skipped))", line)
    return found[1] if found else ""
