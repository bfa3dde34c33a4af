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
from mteb_ext.pages.leaderboard.data import SAMPLES, Leaderboard, Ranking
from mteb_ext.papers import PAPERS as CITED
from mteb_ext.published import variants_of
from mteb_ext.tables.compare import comparison_tables, ranks_table
from mteb_ext.tables.comparison_forms import to_csv, to_json
from mteb_ext.tables.text import printable, spreadsheet_cell

if TYPE_CHECKING:
    import pandas as pd

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
        """The tasks of each finding; what mteb's own repository demands is none."""
        found: dict[tuple[str, str], list[str]] = {}
        for finding in self.board.verified.findings:
            if finding.model == model and finding.level != "submission":
                what = (finding.level, f"{finding.reason} {finding.remedy}")
                found.setdefault(what, []).append(finding.task)
        return found

    def _index(self) -> Iterator[tuple[str, str]]:
        rows = self.board.scores
        counted = rows[rows["counts"]].groupby("task").size().to_dict()
        files = dict(_tables("data/scores", rows))
        values = {"root": "", "counted": counted, "files": list(files)}
        yield "index.html", render("leaderboard/index.html", {**self.shared, **values})
        yield from files.items()

    def _benchmark(self, ranking: Ranking) -> Iterator[tuple[str, str]]:
        rows = self.board.scores
        here = rows.set_index(["task", "split"]).index.isin(ranking.columns)
        of_columns = rows[here & (rows["counts"] | (rows["verdict"] == "failed"))]
        cells: dict[str, dict[tuple[str, str], Any]] = {}
        for row in of_columns.itertuples(index=False):
            cells.setdefault(row.run, {})[row.task, row.split] = row
        counting = of_columns[of_columns["counts"]].itertuples(index=False)
        heads = {(row.task, row.split): row for row in counting}
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
            "cells": cells,
            "heads": heads,
            "files": list(files),
            "ranks": macros().table(ranks_table(sets)) if len(sets) else "",
            "sets": list(sets.itertuples(index=False)),
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
        tables = comparison_tables(compared) if compared else ()
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
            "differences": list(map(macros().table, tables)),
            "domain": _domain(v for row in scores for v in (row.low, row.high, row.value)),
            "files": list(files),
        }
        yield self._page("task", name, values)
        yield from files.items()

    def _task_files(self, name: str) -> Iterator[tuple[str, str]]:
        rows, place = self.board.scores, f"data/tasks/{file_name(name)}"
        yield from _tables(f"{place}/scores", rows[rows["task"] == name])
        if compared := self.board.page.compared.get(name):
            yield f"{place}/differences.csv", to_csv(compared)
            yield f"{place}/comparison.json", to_json(compared)
        if task := self.board.tasks[name]:
            yield f"{place}/citation.bib", _whole_lines(task.metadata.bibtex_citation or "")


def _policy() -> str:
    """What a page may load and run: its own style and script, by their digests."""

    def digest(name: str) -> str:
        raw = hashlib.sha256(asset(name).encode()).digest()
        return f"'sha256-{base64.b64encode(raw).decode('ascii')}'"

    style, script = digest("html/style.css"), digest("leaderboard/site.js")
    return (
        f"default-src 'none'; style-src {style}; script-src {script}; "
        "base-uri 'none'; form-action 'none'"
    )


def _domain(values: Iterable[float]) -> tuple[float, float]:
    """The ends of an axis that shows all values."""
    finite = [value for value in values if not math.isnan(value)]
    low, high = min(finite), max(finite)
    room = 0.05 * (high - low) or 0.05
    return low - room, high + room


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
