"""The leaderboard as a static site: pages, and the tables in them as files.

It opens offline from any folder or server: links are relative, each page holds its own style and
script, and a policy in its head forbids the browser to load or run anything else.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from mteb_ext.analysis.ranking import Evidence, rank_runs, task_ranks
from mteb_ext.analysis.rows import RankRow, TaskRankRow, frame
from mteb_ext.pages.html import asset, macros, render
from mteb_ext.pages.leaderboard.data import SAMPLES, Leaderboard, Ranking, example_of
from mteb_ext.papers import PAPERS as CITED
from mteb_ext.published import variants_of
from mteb_ext.tables.compare import difference_tables, ranks_table
from mteb_ext.tables.comparison_forms import to_csv, to_json
from mteb_ext.tables.leaks import seen_table
from mteb_ext.tables.text import printable, spreadsheet_cell

if TYPE_CHECKING:
    import pandas as pd

    from mteb_ext.analysis.comparing import Compared
    from mteb_ext.analysis.seen import SeenBy

_MARKS = 4  # on an axis, at most
_FIRST = 5  # models of a benchmark on the first page
_SHOWN_OF_A_NAME = 60  # characters of a file's name


def site_files(board: Leaderboard, version: str) -> dict[str, str]:
    """The files of the site; the same leaderboard gives the same bytes.

    Args:
        board: From :func:`mteb_ext.pages.leaderboard.data.leaderboard`.
        version: The package's version.

    Returns:
        The text of each file, by its path in the site.
    """
    return dict(_Site(board, version).files())


def file_name(name: str) -> str:
    """A file name for a model, a task or a benchmark, whatever it is called.

    It is safe on every system and in a link, depends on the name alone, so that links last, and
    differs for names that differ in case only.
    """
    digest = hashlib.sha256(name.encode("utf-8", "backslashreplace")).hexdigest()[:12]
    legible = re.sub(r"[^A-Za-z0-9.]+", "-", name).strip("-.")[:_SHOWN_OF_A_NAME]
    return f"{legible or 'name'}-{digest}"


class _Site:
    """The pages, and what they share."""

    def __init__(self, board: Leaderboard, version: str) -> None:
        self.board = board
        self.shared = {
            "board": board,
            "version": version,
            "page": file_name,
            "papers": CITED,
            "policy": _policy(),
            "models": dict(zip(board.scores["run"], board.scores["model"], strict=True)),
            "samples": SAMPLES,
        }

    def files(self) -> Iterator[tuple[str, str]]:
        yield from self._index()
        for ranking in self.board.rankings:
            yield from self._benchmark(ranking)
        for task in self.board.tasks:
            yield from self._task(task)
        for model, facts in self.board.models.items():
            scores = self._scores(model=model)
            values = {
                "model": model,
                "facts": facts,
                "scores": scores,
                "several": len({row.run for row in scores}) > 1,
                "findings": self._findings(model),
                "domains": {row.task: _domain_of(self._scores(task=row.task)) for row in scores},
                "others": {row.task: self._others(row) for row in scores},
                "seen": seen_table(seen) if (seen := self._seen(model)) else None,
            }
            yield self._page("model", model, values)

    def _page(self, kind: str, name: str, values: Mapping[str, Any]) -> tuple[str, str]:
        values = {**self.shared, "root": "../", **values}
        return f"{kind}s/{file_name(name)}.html", render(f"leaderboard/{kind}.html", values)

    def _scores(self, **wanted: str) -> list[Any]:
        rows = self.board.scores
        for column, value in wanted.items():
            rows = rows[rows[column] == value]
        return list(rows.itertuples(index=False))

    def _findings(self, model: str) -> dict[tuple[str, str], list[str]]:
        """The tasks of each finding; what mteb's own repository demands is none.

        What to do is for whoever has the folders: it names places on their machine.
        """
        found: dict[tuple[str, str], list[str]] = {}
        for finding in self.board.verified.findings:
            if finding.model == model and finding.level != "submission":
                found.setdefault((finding.level, finding.reason), []).append(finding.task)
        return found

    def _others(self, row: Any) -> list[float]:  # noqa: ANN401 - a row of the scores
        """Every model's score beside which a score stands."""
        return [
            other.value for other in self._scores(task=row.task, split=row.split) if other.counts
        ]

    def _seen(self, model: str) -> list[SeenBy]:
        return [one for one in self.board.page.seen if one.model == model]

    def _index(self) -> Iterator[tuple[str, str]]:
        rows = self.board.scores
        counted = rows[rows["counts"]].groupby("task").size().to_dict()
        files = dict(_tables("data/scores", rows))
        values = {
            "root": "",
            "counted": counted,
            "files": list(files),
            "first": _FIRST,
            "shown": {ranking.name: self._shown(ranking) for ranking in self.board.rankings},
        }
        yield "index.html", render("leaderboard/index.html", {**self.shared, **values})
        yield from files.items()

    def _of_columns(self, ranking: Ranking) -> pd.DataFrame:
        """The scores of a benchmark's table."""
        rows = self.board.scores
        here = rows.set_index(["task", "split"]).index.isin(ranking.columns)
        return rows[here & (rows["counts"] | (rows["verdict"] == "failed"))]

    def _shown(self, ranking: Ranking) -> dict[str, Any]:
        """A benchmark's cells by run, a row of each column, each column's axis, and rank sets."""
        cells: dict[str, dict[tuple[str, str], Any]] = {}
        columns: dict[tuple[str, str], list[Any]] = {}
        for row in self._of_columns(ranking).itertuples(index=False):
            cells.setdefault(row.run, {})[row.task, row.split] = row
            if row.counts:
                columns.setdefault((row.task, row.split), []).append(row)
        return {
            "cells": cells,
            "heads": {column: rows[-1] for column, rows in columns.items()},
            "domains": {column: _domain_of(rows) for column, rows in columns.items()},
            "sets": {row.run: row for row in rank_runs(self._ranked(ranking))},
        }

    def _benchmark(self, ranking: Ranking) -> Iterator[tuple[str, str]]:
        of_columns = self._of_columns(ranking)
        place = f"data/benchmarks/{file_name(ranking.name)}"
        ranks = of_columns["run"].map(ranking.ranks).astype("Int64")
        files = dict(_tables(f"{place}/scores", of_columns.assign(rank=ranks)))
        files[f"{place}/citation.bib"] = _whole_lines(ranking.citation)
        evidence = self._ranked(ranking)
        sets = frame(rank_runs(evidence), RankRow)
        by_run: dict[str, list[TaskRankRow]] = {}
        for row in task_ranks(evidence):
            by_run.setdefault(row.run, []).append(row)
        files.update(_tables(f"{place}/ranks", sets) if len(sets) else ())
        values = {
            "ranking": ranking,
            **self._shown(ranking),
            "files": list(files),
            "ranks": macros().table(ranks_table(sets)) if len(sets) else "",
            "ranked": list(sets.itertuples(index=False)),
            "task_ranks": by_run,
        }
        yield self._page("benchmark", ranking.name, values)
        yield from files.items()

    def _ranked(self, ranking: Ranking) -> list[Evidence]:
        """What the ranks over the benchmark's tasks are computed from; empty if a task lacks it."""
        evidence = [
            one
            for task, split in ranking.ranked
            if task in self.board.page.compared
            for one in self.board.page.compared[task].evidence
            if one.split == split and set(ranking.ranks) <= set(one.runs)
        ]
        whole = len(evidence) == len(ranking.ranked)
        kept = set(ranking.ranks)
        return [one.kept(kept) for one in evidence] if whole and len(kept) > 1 else []

    def _task(self, name: str) -> Iterator[tuple[str, str]]:
        board, task, scores = self.board, self.board.tasks[name], self._scores(task=name)
        compared = board.page.compared.get(name)
        tables = difference_tables(compared) if compared else ()
        published, breakdown = (
            frame[frame["task"] == name] for frame in (board.page.published, board.page.breakdown)
        )
        files = dict(self._task_files(name))
        values = {
            "name": name,
            "task": task,
            "counting": [row for row in scores if row.counts],
            "others": [row for row in scores if not row.counts],
            "published": list(published.itertuples(index=False)),
            "variants": {v.id: v.rule for v in variants_of(name)},
            "breakdown": _by_part(breakdown),
            "differences": [macros().table(table, "sortable") for table in tables],
            "domain": _domain_of(scores),
            "behind": _behind(compared) if compared else {},
            "example": example_of(name),
            "distribution": self._distribution(name),
            "files": list(files),
        }
        yield self._page("task", name, values)
        yield from files.items()

    def _distribution(self, name: str) -> dict[tuple[str, str], dict[str, list[Any]]]:
        """How many queries score how much, by split and subset, then by run."""
        found: dict[tuple[str, str], dict[str, list[Any]]] = {}
        rows = self.board.page.distribution
        for row in rows[rows["task"] == name].itertuples(index=False):
            found.setdefault((row.split, row.subset), {}).setdefault(row.run, []).append(row)
        return {
            place: dict(sorted(by_run.items(), key=lambda run: -run[1][0].mean))
            for place, by_run in found.items()
        }

    def _task_files(self, name: str) -> Iterator[tuple[str, str]]:
        rows, place = self.board.scores, f"data/tasks/{file_name(name)}"
        yield from _tables(f"{place}/scores", rows[rows["task"] == name])
        if compared := self.board.page.compared.get(name):
            yield f"{place}/differences.csv", to_csv(compared)
            yield f"{place}/comparison.json", to_json(compared)
        if task := self.board.tasks[name]:
            yield f"{place}/citation.bib", _whole_lines(task.metadata.bibtex_citation or "")


def _behind(compared: Compared) -> dict[tuple[str, str], Any]:
    """By split and run, the difference of the headline's best run from it."""
    pairs = compared.pairs[compared.pairs["headline"]]
    scores = compared.scores[compared.scores["headline"]]
    best = scores.loc[scores.groupby("split")["value"].idxmax()]
    of_best = pairs.merge(
        best[["split", "run"]], left_on=["split", "first"], right_on=["split", "run"]
    )
    return {(row.split, row.second): row for row in of_best.itertuples(index=False)}


def _policy() -> str:
    """What a page may load and run: its own style and script, by their digests."""

    def digest(*names: str) -> str:
        raw = hashlib.sha256("".join(map(asset, names)).encode()).digest()
        return f"'sha256-{base64.b64encode(raw).decode('ascii')}'"

    style, script = digest("html/style.css"), digest("html/sort.js", "leaderboard/site.js")
    return (
        f"default-src 'none'; style-src {style}; script-src {script}; "
        "base-uri 'none'; form-action 'none'"
    )


def axis_of(values: Iterable[float]) -> tuple[float, float, list[float]]:
    """The ends of an axis that shows all values, and its marks, at round numbers."""
    finite = [value for value in values if not math.isnan(value)]
    low, high = min(finite), max(finite)
    room = 0.05 * (high - low) or 0.05
    low, high = low - room, high + room
    unit = 10.0 ** math.floor(math.log10((high - low) / _MARKS))
    step = next(n * unit for n in (1, 2, 5, 10) if (high - low) / (n * unit) <= _MARKS)
    marks = range(math.ceil(low / step), math.floor(high / step) + 1)
    return low, high, [round(mark * step, 10) for mark in marks]


def _domain_of(rows: Iterable[Any]) -> tuple[float, float, list[float]]:
    return axis_of(v for row in rows for v in (row.low, row.high, row.value))


def _by_part(breakdown: pd.DataFrame) -> dict[tuple[str, str], dict[str, dict[str, float]]]:
    """Main scores by split and metric, then by run, then by part of the data."""
    found: dict[tuple[str, str], dict[str, dict[str, float]]] = {}
    for row in breakdown.itertuples(index=False):
        found.setdefault((row.split, row.metric), {}).setdefault(row.run, {})[row.part] = row.value
    return found


def _tables(place: str, rows: pd.DataFrame) -> Iterator[tuple[str, str]]:
    """Rows as CSV and JSON, with all digits."""
    shown = rows.map(lambda value: printable(value) if isinstance(value, str) else value)
    cells = rows.map(lambda value: spreadsheet_cell(value) if isinstance(value, str) else value)
    yield f"{place}.csv", str(cells.to_csv(index=False, lineterminator="\n"))
    records = json.loads(shown.to_json(orient="records", double_precision=15))
    yield f"{place}.json", json.dumps(records, indent=1, ensure_ascii=False) + "\n"


def _whole_lines(text: str) -> str:
    return text.strip() + "\n" if text.strip() else ""
