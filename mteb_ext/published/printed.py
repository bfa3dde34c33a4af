"""Which tables are stored, where they are printed, and what their columns are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mteb_ext import papers


@dataclass(frozen=True, slots=True)
class Column:
    """What the numbers in one column of a printed table are.

    Attributes:
        task: Our task.
        subset: Its subset; empty for the headline.
        metric: pearson, map or mrr.
        variants: The variant that the numbers follow; several where it is not settled which.
    """

    task: str
    subset: str
    metric: str
    variants: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PrintedTable:
    """A table as its paper prints it.

    Its file has one line for each printed line: ``system``; where the print has them, ``paper``,
    the system's own paper, and ``late``, the paper's asterisk; the numbers, digit by digit; and a
    ``note`` where there is something to say.

    Attributes:
        file: The CSV file in the folder ``tables``.
        paper: The paper that prints it.
        place: Where in the paper.
        columns: What each column of numbers is.
        percent: Whether it prints 100 times the value.
        note: What holds for all of its numbers.
    """

    file: str
    paper: papers.Paper
    place: str
    columns: Mapping[str, Column]
    percent: bool = False
    note: str = ""


def _track(subset: str) -> Column:
    return Column("STS17SemEval", subset, "pearson", ("per-track",))


def _pairs(*names: str) -> dict[str, Column]:
    return {name: Column("WMT17Metrics", name, "pearson", ("per-pair",)) for name in names}


PRINTED = (
    PrintedTable(
        "cer2017_table10.csv",
        papers.SEMEVAL2017,
        "Table 10, p. 6",
        {
            "Primary": Column("STS17SemEval", "", "pearson", ("printed-mean-of-7",)),
            "1": _track("1-ar-ar"),
            "2": _track("2-ar-en"),
            "3": _track("3-es-es"),
            "4a": _track("4a-es-en"),
            "4b": _track("4b-es-en"),
            "5": _track("5-en-en"),
            "6": Column("STS17SemEvalTurkish", "default", "pearson", ("per-track",)),
        },
        percent=True,
    ),
    PrintedTable(
        "garg2020_tanda.csv",
        papers.TANDA,
        "results on WikiQA and TREC-QA",
        {
            "WikiQA MAP": Column("WikiQA", "default", "map", ("no-all-negative-243", "clean-237")),
            "WikiQA MRR": Column("WikiQA", "default", "mrr", ("no-all-negative-243", "clean-237")),
            "TREC-QA MAP": Column("TRECQA", "default", "map", ("clean-68",)),
            "TREC-QA MRR": Column("TRECQA", "default", "mrr", ("clean-68",)),
        },
        note="table number not verified",
    ),
    PrintedTable(
        "yang2015_wikiqa.csv",
        papers.WIKIQA,
        "baseline results on WikiQA",
        {
            "MAP": Column("WikiQA", "default", "map", ("clean-237",)),
            "MRR": Column("WikiQA", "default", "mrr", ("clean-237",)),
        },
        note="table number not verified",
    ),
    PrintedTable(
        "bojar2017_wmt17.csv",
        papers.WMT17,
        "segment-level results into English",
        _pairs("cs-en", "de-en", "fi-en", "ru-en", "tr-en", "zh-en"),
        note="table number not verified",
    ),
    PrintedTable(
        "zhao2019_wmt17.csv",
        papers.MOVERSCORE,
        "README of the paper's repository, The Results in Machine Translation",
        _pairs("cs-en", "de-en", "ru-en", "tr-en", "zh-en"),
    ),
)
"""The tables, in the order of the long form."""
