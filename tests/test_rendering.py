"""Frames and tables as a terminal and a pipe show them."""

from __future__ import annotations

import io
import math

import pytest
from rich.cells import cell_len
from rich.console import Console

from mteb_ext.tables.table import Table, plain_lines, print_framed, shortened
from mteb_ext.tables.text import interval, number, printable, spreadsheet_cell


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("org/model-v2 (試作)", "org/model-v2 (試作)"),
        ("[bold]x[/bold]", "[bold]x[/bold]"),
        ("\x1b]0;title\x07", r"\x1b]0;title\x07"),
        ("a\nb\tc", r"a\nb\tc"),
        ("abc\u202edef", r"abc\u202edef"),
        ("a\ud800", r"a\ud800"),
        ("a\u200bb\U000e0041", r"a\u200bb\U000e0041"),
    ],
)
def test_what_does_not_print_is_shown(text, shown):
    assert printable(text) == shown


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("=1+2", "'=1+2"),
        ("+a", "'+a"),
        ("-a", "'-a"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", r"\t=1"),  # no white space is left in front
        ("a=1", "a=1"),
    ],
)
def test_no_cell_of_a_spreadsheet_is_a_formula(text, cell):
    assert spreadsheet_cell(text) == cell


def test_numbers():
    assert [number(0.12345), number(1, 2), number(math.nan)] == ["0.1235", "1.00", ""]
    assert [interval(0.1, 0.23456), interval(math.nan, math.nan)] == ["0.100 to 0.235", ""]


TABLE = Table(
    "Title",
    ("name", "score"),
    [("a/[b]long[/b]-name", "0.5"), ("試作", "0.25")],
    ["A note."],
)


def test_plain_lines_are_aligned_by_the_cells_that_characters_take():
    assert list(plain_lines(TABLE)) == [
        "Title",
        "name                score",
        "a/[b]long[/b]-name  0.5",
        "試作                0.25",
        "A note.",
    ]


def test_a_plain_row_is_one_line_however_long_it_is():
    long = "x" * 1000
    assert list(plain_lines(Table("", ("n\n",), [(f"{long}\n",)]))) == [r"n\n", rf"{long}\n"]


def framed(table, width):
    out = io.StringIO()
    print_framed(table, Console(file=out, width=width, force_terminal=True, color_system=None))
    return out.getvalue()


def test_a_framed_table_holds_names_whole_and_as_they_are():
    shown = framed(TABLE, 80)
    assert "a/[b]long[/b]-name" in shown
    assert "│" in shown
    assert shown.rstrip().endswith("A note.")


@pytest.mark.parametrize("width", [10, 20, 26])
def test_no_terminal_is_too_narrow_for_a_whole_name(width):
    shown = framed(TABLE, width)
    assert "a/[b]long[/b]-name  0.5" in shown
    assert "│" not in shown
    assert "…" not in shown


def test_nothing_is_minus_zero():
    assert (number(-0.00001), interval(-0.0001, 0.5)) == ("0.0000", "0.000 to 0.500")


@pytest.mark.parametrize(
    ("width", "expected"),
    [(30, "organisation/a-long-name"), (24, "organisation/a-long-name"), (11, "organ…-name")],
)
def test_a_long_name_loses_its_middle(width, expected):
    assert shortened("organisation/a-long-name", width) == expected


def test_a_wide_character_takes_two_columns():
    assert shortened("試作試作試作", 7) == "試…試作"  # 2 + 1 + 4: no half character


def test_a_narrow_terminal_shortens_the_widest_names_alone():
    names = [f"organisation-of-ours/a-model-of-size-{size}" for size in (1, 2)]
    table = Table("", ("model", "score"), [(name, "0.5") for name in names])
    shown = framed(table, 38)
    assert max(map(cell_len, shown.splitlines())) == 38
    assert "organisation…del-of-size-1" in shown
    assert "0.5" in shown


def test_names_that_would_look_alike_are_whole():
    table = Table(
        "", ("model",), [(f"organisation/model-{size}-of-ours-and-more",) for size in "ab"]
    )
    assert "organisation/model-a-of-ours-and-more" in framed(table, 24)


def test_escape_sequences_in_a_cell_do_not_reach_the_terminal():
    table = Table("\x1b[2J", ("\x1b]0;t\x07",), [("\x9b1m",)], ["\x1b[1m"])
    for shown in ("\n".join(plain_lines(table)), framed(table, 80)):
        assert r"\x1b[2J" in shown
        assert r"\x1b]0;t\x07" in shown
        assert r"\x9b1m" in shown
        assert "\x9b" not in shown
        assert "\x1b]" not in shown
