"""Hooks of mkdocs: pages that come from the repository and from the package itself.

The README is the start page. The reference pages list the public names and every command's help,
so they cannot lag behind.
"""

from __future__ import annotations

import argparse
import os
import posixpath
import re
from pathlib import Path

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[1]
FROM_ROOT = {
    "index.md": "README.md",
    **{name: name for name in ("CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")},
}
LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)#\s]+)(#[^)\s]*)?\)")


def on_files(files, config):
    """Add the pages that have no file in the folder of documents."""
    pages = {page: (ROOT / source).read_text("utf-8") for page, source in FROM_ROOT.items()}
    pages["reference/python.md"] = python_reference()
    pages["reference/commands.md"] = command_reference()
    for page, text in pages.items():
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown, *, page, config, files):
    """Let links lead to the site's page of a file of the repository.

    Files without a page are named in code. A link to nothing is an error.
    """
    del config
    source = FROM_ROOT.get(page.file.src_uri)
    home = ROOT if source else ROOT / "docs" / posixpath.dirname(page.file.src_uri)
    pages = {str(ROOT / name): uri for uri, name in FROM_ROOT.items()}

    def rewritten(link):
        target = posixpath.normpath(posixpath.join(str(home), link[1]))
        uri = pages.get(target) or posixpath.relpath(target, str(ROOT / "docs"))
        if files.get_file_from_path(uri):
            here = posixpath.dirname(page.file.src_uri)
            return f"]({posixpath.relpath(uri, here or '.')}{link[2] or ''})"
        if not Path(target).exists():
            raise PluginError(f"{page.file.src_uri}: {link[1]} leads to nothing")
        return f"] (`{posixpath.relpath(target, str(ROOT))}`)"

    return LINK.sub(rewritten, markdown)


def python_reference():
    """Every public name, from its docstring."""
    import mteb_ext

    lines = ["# Python", "", "All of these are names of `mteb_ext`.", ""]
    for name in mteb_ext.__all__:
        value = getattr(mteb_ext, name)
        if hasattr(value, "__qualname__"):
            lines += [f"::: {value.__module__}.{value.__qualname__}", ""]
    return "\n".join(lines)


def command_reference():
    """Every command, as its ``--help`` has it."""
    from mteb_ext.cli import command_parser

    os.environ["COLUMNS"] = "96"
    parser = command_parser()
    [commands] = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    lines = ["# Commands", "", "```text", parser.format_help().rstrip(), "```", ""]
    for name, command in commands.choices.items():
        lines += [f"## mteb-ext {name}", "", "```text", command.format_help().rstrip(), "```", ""]
    return "\n".join(lines)
