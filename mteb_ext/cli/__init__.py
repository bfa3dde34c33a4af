"""The ``mteb-ext`` command: what ``mteb`` itself has no command for. One module a command.

Evaluating one registered model is mteb's own job: ``mteb run -m MODEL -t WikiQA``.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mteb_ext.cli import (
    compare,
    errors,
    leaderboard,
    leak,
    new,
    report,
    run,
    score,
    tasks,
    verify,
)
from mteb_ext.cli.output import NAME, console, discard_output, print_error
from mteb_ext.errors import MtebExtError

_INTERRUPTED = 130  # what shells report of a process that Ctrl-C has ended


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        arguments: The arguments; those of the process where left out.

    Returns:
        The exit status: 0, or 1 after an error, which is then one line on standard error.
    """
    parsed = command_parser().parse_args(arguments)
    try:
        with console():
            parsed.command(parsed)
    except BrokenPipeError:  # 'mteb-ext tasks | head -1' has read enough
        discard_output()
    except MtebExtError as error:
        print_error(str(error))
        return 1
    except OSError as error:
        if error.filename is not None:
            remedy = (
                "mteb keeps a cache there: set MTEB_CACHE to a folder that can be written"
                if _is_of_mtebs_cache(Path(error.filename))
                else "Look at it, or name another"
            )
            print_error(f"{error.filename}: {error.strerror}. {remedy}.")
        else:  # it is what was being printed
            reason = error.strerror or error
            print_error(f"the output cannot be written: {reason}. Send it elsewhere.")
            discard_output()
        return 1
    except KeyboardInterrupt:
        print_error("interrupted")
        return _INTERRUPTED
    return 0


def _is_of_mtebs_cache(path: Path) -> bool:
    """Whether a path is in mteb's cache, or the cache would be in it."""
    cache = Path(os.environ.get("MTEB_CACHE") or "~/.cache/mteb").expanduser()
    return cache.is_relative_to(path) or path.is_relative_to(cache)


def command_parser() -> argparse.ArgumentParser:
    """The parser of the command line, with all commands."""
    parser = argparse.ArgumentParser(
        prog=NAME, description="Companion of mteb for the tasks of mteb_ext."
    )
    parser.add_argument(
        "--version", action=_Version, nargs=0, help="print the package's version and mteb's"
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for module in (tasks, run, score, verify, report, compare, errors, leak, leaderboard, new):
        module.add_commands(commands)
    return parser


class _Version(argparse.Action):
    """Looks the versions up only when they are asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any, **__: Any) -> None:
        import mteb_ext
        from mteb_ext._autoload import mteb_version

        print(f"{NAME} {mteb_ext.__version__} (mteb {mteb_version()})")
        parser.exit()
