"""Writes the tables of docs/LEAKS.md: the papers' own splits against each other, and scores.

It needs the public data, and a folder of results that holds predictions of WikiQA and the STS
Benchmark for the second table.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from mteb_ext.leaks.counting import Lookup, Seen
from mteb_ext.leaks.items import paper_set, sets_of
from mteb_ext.leaks.own import as_training, own_leaks
from mteb_ext.leaks.scores import scores_by_seen
from mteb_ext.plugin.lookup import paper_task
from mteb_ext.tables.leaks import own_table, scores_table
from mteb_ext.tables.table import Table

_DOCUMENT = Path(__file__).parent.parent / "docs" / "LEAKS.md"
_TASKS = ("WikiQA", "STSBenchmarkSemEval")


def main() -> None:
    """Write the tables into the document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path, nargs="?", help="a folder with predictions")
    arguments = parser.parse_args()
    tables = {"own": own_table(*own_leaks())}
    if arguments.results:
        seen = Seen(Lookup(sets_of(_TASKS)))
        for name in _TASKS:
            seen.take(as_training(paper_set(paper_task(name), "train", "default")), name)
        tables["scores"] = scores_table(scores_by_seen([arguments.results], seen.leaks(None)))
    text = _DOCUMENT.read_text("utf-8")
    for name, table in tables.items():
        place = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        lines = _markdown(table)
        text = place.sub(lambda found, lines=lines: f"{found[1]}{lines}\n{found[2]}", text)
    _DOCUMENT.write_text(text, "utf-8")


def _markdown(table: Table) -> str:
    rows = [table.columns, ["---"] * len(table.columns), *table.rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


if __name__ == "__main__":
    main()
