"""``mteb-ext new``: write a task file to start from, with its sample and its test."""

from __future__ import annotations

import argparse
import os
import re
from importlib import resources
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

from mteb_ext.cli.output import print_line
from mteb_ext.cli.parsing import add_command
from mteb_ext.errors import MtebExtError

if TYPE_CHECKING:
    from mteb_ext.cli.parsing import Commands


def add_commands(commands: Commands) -> None:
    """Add the command to the parser."""
    new = add_command(
        commands,
        "new",
        summary="write a task file of your own, its sample and its test",
        examples=["CookingSTS --kind sts", "CookingQA --kind ranking -o my-tasks"],
    )
    new.add_argument("name", metavar="NAME", help="the task's name, for example CookingSTS")
    new.add_argument(
        "--kind", required=True, choices=("sts", "ranking"), help="pairs, or candidate lists"
    )
    new.add_argument(
        *("-o", "--output-folder"),
        type=Path,
        default=Path(),
        metavar="FOLDER",
        help="where the files go",
    )
    new.set_defaults(command=_new)


def _new(arguments: argparse.Namespace) -> None:
    folder = arguments.output_folder
    files = _files(arguments.name, arguments.kind)
    if taken := [str(folder / name) for name in files if (folder / name).exists()]:
        raise MtebExtError(f"{', '.join(taken)} is there already, and nothing was written.")
    try:
        for name, content in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8", newline="\n")
            print_line(str(path))
    except BrokenPipeError:
        raise
    except OSError as error:
        raise MtebExtError(f"{error.filename} cannot be written: {error.strerror}.") from error
    place = os.fspath(folder.resolve())
    print_line(f"Try it: MTEB_EXT_PATH={place} pytest {folder / 'tests'}")


def _files(name: str, kind: str) -> dict[str, str]:
    """The contents of the files, by their paths.

    Raises:
        MtebExtError: If the name cannot be that of a class.
    """
    if not re.fullmatch("[A-Z][A-Za-z0-9]*", name):
        raise MtebExtError(f"{name!r} is no name for a task: take capitalised words in one.")
    module = re.sub("(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
    templates = resources.files("mteb_ext.cli") / "templates"

    def filled(template: str) -> str:
        text = (templates / f"{template}.txt").read_text("utf-8")
        return Template(text).substitute(name=name, module=module)

    return {
        f"{module}.py": filled(f"{kind}.py"),
        f"samples/{module}/test.tsv": filled(f"{kind}.tsv"),
        f"tests/test_{module}.py": filled(f"test_{kind}.py"),
    }
