"""What the modules of the commands share: how a command explains itself, and types of options."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Callable, Sequence
from typing import TypeAlias, TypeVar

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
T = TypeVar("T")


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Puts an option's default behind its help."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        if not action.option_strings or action.default in (None, False, True, [], {}):
            return action.help
        if action.default is argparse.SUPPRESS:
            return action.help
        return f"{action.help} (default: %(default)s)"


def add_command(
    commands: Commands, name: str, *, summary: str, examples: Sequence[str], details: str = ""
) -> argparse.ArgumentParser:
    """Add a command to the parser.

    Args:
        commands: The commands.
        name: Its name.
        summary: One line for the list of commands.
        examples: Its arguments, as somebody types them.
        details: What must be known beside the summary.
    """
    lines = [f"  mteb-ext {name} {example}".rstrip() for example in examples]
    sentences = [f"{summary[0].upper()}{summary[1:]}.", details]
    return commands.add_parser(
        name,
        help=summary,
        description="\n\n".join(textwrap.fill(text, 80) for text in sentences if text),
        epilog="\n".join(["examples:", *lines]),
        formatter_class=_Formatter,
    )


def add_task_options(parser: argparse._ActionsContainer, tasks: str, benchmarks: str) -> None:
    """Add ``-t`` and ``-b``.

    Args:
        parser: A command, or a group of its options.
        tasks: The help of ``-t``.
        benchmarks: The help of ``-b``.
    """
    for short, long, metavar, text in (
        ("-t", "--tasks", "TASK", tasks),
        ("-b", "--benchmarks", "NAME", benchmarks),
    ):
        parser.add_argument(
            *(short, long), nargs="+", action="extend", default=[], metavar=metavar, help=text
        )


def positive(kind: Callable[[str], T]) -> Callable[[str], T]:
    """A type of options: a number above 0."""

    def parse(text: str) -> T:
        value = kind(text)
        if not value > 0:  # type: ignore[operator]
            raise argparse.ArgumentTypeError(f"{text} is not above 0")
        return value

    parse.__name__ = f"positive {kind.__name__}"
    return parse
