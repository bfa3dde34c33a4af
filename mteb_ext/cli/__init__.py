"""The ``mteb-ext`` command: what ``mteb`` itself has no command for. One module a command.

Evaluating one registered model is mteb's own job: ``mteb run -m MODEL -t WikiQA``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from mteb_ext.cli import compare, new, report, run, tasks
from mteb_ext.errors import MtebExtError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        arguments: The arguments; those of the process where left out.

    Returns:
        The exit status: 0, or 1 after an error, which is then on standard error.
    """
    parsed = _parser().parse_args(arguments)
    try:
        parsed.command(parsed)
    except MtebExtError as error:
        print(f"mteb-ext: {error}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="mteb-ext", description="Companion of mteb for the tasks of mteb_ext."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for module in (tasks, run, report, compare, new):
        module.add_commands(commands)
    return parser
