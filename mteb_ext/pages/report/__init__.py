"""The report page: one HTML file that opens offline and fetches nothing.

It holds the script that draws the charts, the charts' data, and every number in tables as well. A
policy in its head forbids the browser to load anything else.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from mteb_ext.analysis.editions import OTHER, PAPERS
from mteb_ext.analysis.ranking import in_benchmark_order, rank_runs, task_ranks
from mteb_ext.analysis.rows import RankRow, TaskRankRow, frame
from mteb_ext.errors import MtebExtError
from mteb_ext.pages.html import Markup, macros, render, text
from mteb_ext.tables.compare import comparison_tables, ranks_table
from mteb_ext.tables.leaks import seen_table
from mteb_ext.tables.report import models_table
from mteb_ext.tables.table import Table
from mteb_ext.tables.text import metric_name, number, printable
from mteb_ext.tables.ties import ties_table

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from mteb_ext.pages.report.data import PageData, Scatter

_KIND = ["task", "split", "dataset_revision", "metric", "subsets"]
_LEVELS = (1 << 16) - 1  # of a packed number


def report_page(data: PageData, command: str, version: str) -> str:
    """The page of results; the same data give the same bytes.

    Args:
        data: From :func:`mteb_ext.pages.report.data.page_data`.
        command: What made it, for those who read it.
        version: The package's version.

    Raises:
        MtebExtError: If the extra that it needs is not installed.
    """
    try:
        import altair  # noqa: F401
        import vl_convert  # noqa: F401
    except ImportError as error:
        raise MtebExtError(
            f"the report page needs {error.name}: pip install 'mteb-ext[report]'"
        ) from error
    return _Page(data).html(command, version, _bundle())


@cache
def _bundle() -> str:
    """Vega-Embed and all that it needs, as one script; it takes seconds to make."""
    import vl_convert

    return str(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;"))


class _Page:
    """The sections of the page, and the data of their charts."""

    def __init__(self, data: PageData) -> None:
        from mteb_ext.pages.report import charts

        self.data = data
        self.draw = charts
        self.runs = sorted(
            set(data.headlines["run"]) | {r for s in data.scatters for r in s.scores}
        )
        self.charts: dict[str, Any] = {}
        self.scatters: dict[str, Any] = {}

    def html(self, command: str, version: str, bundle: str) -> str:
        tasks = list(dict.fromkeys(self.data.headlines["task"]))
        sections = {
            "All models": self._models(),
            "Headlines": self._headlines(),
            **{str(task): self._task(str(task)) for task in tasks},
            "Data and versions": self._versions(version),
        }
        shown = {title: Markup("\n".join(inner)) for title, inner in sections.items()}
        data = {
            "config": self.draw.CONFIG,
            "runs": list(map(printable, self.runs)),
            "charts": self.charts,
            "scatter": self.draw.scatter(),
            "scatters": self.scatters,
        }
        models, n_tasks = self.data.headlines["run"].nunique(), len(tasks)
        values = {
            "title": f"Results of {_counted(models, 'model')} on {_counted(n_tasks, 'task')}",
            "generator": f"mteb-ext {version}",
            "command": command,
            "sections": [(title, inner) for title, inner in shown.items() if inner],
            "data": _json(data),
            "bundle": _script(bundle),
        }
        return render("report/page.html", values)

    def _models(self) -> Iterator[str]:
        rows, kinds = self.data.headlines, dict[tuple[Any, ...], list[str]]()
        cells: dict[str, dict[tuple[Any, ...], str]] = {}
        marks = {
            (row.run, row.task, row.split, row.dataset_revision): row.letters
            for compared in self.data.compared.values()
            for row in compared.scores[compared.scores["headline"]].itertuples()
        }
        for row in rows.itertuples():
            kind = tuple(getattr(row, name) for name in _KIND)
            kinds.setdefault(kind, [row.task, row.split, _metric(row), _data_of(row)])
            letters = marks.get((row.run, row.task, row.split, row.dataset_revision), "")
            mark = Markup(" <sup>{}</sup>").format(letters) if letters else ""
            cells.setdefault(row.run, {})[kind] = text(number(row.value)) + mark
        head = ["model", *(Markup("<br>").join(map(text, names)) for names in kinds.values())]
        body = [[run, *(cells[run].get(kind, "") for kind in kinds)] for run in sorted(cells)]
        yield _table(Table("Headlines", head, body))
        if marks:
            yield _note("Models that share a letter do not differ significantly on that task.")
        yield _details("With 95% intervals", _table(models_table(rows)))
        if self.data.seen:
            yield _table(seen_table(self.data.seen))
        found = [one for c in self.data.compared.values() for one in c.evidence]
        evidence = in_benchmark_order(found)
        if len(evidence) > 1 and (ranks := rank_runs(evidence)):
            table = ranks_table(frame(ranks, RankRow))
            tasks = frame(task_ranks(evidence), TaskRankRow)
            names = ", ".join(dict.fromkeys(tasks["task"]))
            title = f"{table.title}: the dot is the rank, the bar its set; thin bars: {names}"
            spec = self.draw.ranks(frame(ranks, RankRow), tasks, f"{title}. {table.notes[0]}")
            yield self._figure(spec, title, [])
            yield _table(table)

    def _headlines(self) -> Iterator[str]:
        yield _note(
            "Each model's headline with its 95% interval. Red lines: the best published number of "
            "the same protocol variant; small red marks: the others that lie in the range shown. "
            "Dashed: it is not settled that the number follows the variant."
        )
        yield '<div class="grid">'
        for _, rows in self.data.headlines.groupby(_KIND, sort=False):
            first = next(rows.itertuples())
            title = f"{first.task}, {first.split}: {_metric(first)}, {_data_of(first)}"
            published = self._published(first)
            best = f"{printable(first.run)} is first with {number(first.value)}"
            spec = self.draw.forest(rows, published, f"Forest plot of {title}. {best}.")
            tables = [models_table(rows)]
            if len(published):
                tables.append(_published_table(published))
            yield self._figure(spec, title, tables)
        yield "</div>"

    def _published(self, headline: Any) -> pd.DataFrame:  # noqa: ANN401 - a row
        rows = self.data.published
        here = (rows["task"] == headline.task) & (rows["metric"] == headline.metric)
        whole = headline.edition == PAPERS and headline.subsets == headline.all_subsets
        return rows[here if whole and headline.split == "test" else here & False]

    def _task(self, task: str) -> Iterator[str]:
        splits = self.data.headlines.query("task == @task")["split"].unique()
        for split in splits:
            parts = [
                *self._significance(task, split),
                *self._scatters(task, split),
                *self._ranking(task, split),
                *self._breakdown(task, split),
            ]
            if parts and len(splits) > 1:
                yield f"<h3>{text(split)}</h3>"
            yield from parts
        if task in self.data.compared:
            tables = [_table(table) for table in comparison_tables(self.data.compared[task])]
            yield _details("Every score and difference", *tables)

    def _significance(self, task: str, split: str) -> Iterator[str]:
        compared = self.data.compared.get(task)
        if compared is None:
            return
        scores, pairs = (
            frame[frame["headline"] & (frame["split"] == split)]
            for frame in (compared.scores, compared.pairs)
        )
        if pairs.empty:
            return
        order = list(scores["run"])
        n_significant = int(pairs["significant"].sum())
        described = (
            f"Significance matrix of {task}: {n_significant} of {len(pairs)} differences are "
            "significant."
        )
        spec = self.draw.matrix(order, pairs, described)
        names = "".join(f"<li>{text(run)}</li>" for run in order)
        test = (
            f"{pairs['test'].iloc[0].capitalize()}, two-sided, at the 5% level, corrected for all "
            f"pairs of models. A cell is the row's score minus the column's; n.s. is a difference "
            "that is not significant."
        )
        yield '<div class="grid">'
        yield self._figure(spec, described, [])
        yield f'<div><ol class="models">{names}</ol>{_note(test)}</div>'
        yield "</div>"

    def _scatters(self, task: str, split: str) -> Iterator[str]:
        shown = [s for s in self.data.scatters if (s.task, s.split) == (task, split)]
        if not shown:
            return
        rescaled = _of(self.data.rescaled, task, split)
        best_first = self.data.headlines.query("task == @task and split == @split")["run"]
        runs = sorted(shown[0].scores, key=[*best_first, *self.runs].index)
        choices = "".join(
            f'<option value="{self.runs.index(run)}">{text(run)}</option>' for run in runs
        )
        yield "<div data-scatters>"
        yield f"<label>Gold and the scores of <select>{choices}</select></label>"
        if len(rescaled):
            yield _note(
                "On the line the score, rescaled linearly so that the smallest and the largest lie "
                "at the ends of the rating scale, equals gold; between the dashed lines it is "
                "within 1.0 of it."
            )
        yield '<div class="grid small">'
        for scatter in shown:
            yield self._scatter(scatter, rescaled)
        yield "</div></div>"
        if len(rescaled):
            yield _details("Share of pairs within 1.0 of gold", _table(_rescaled_table(rescaled)))

    def _scatter(self, scatter: Scatter, rescaled: pd.DataFrame) -> str:
        key = f"p{len(self.scatters)}"
        here = rescaled[rescaled["subset"] == scatter.subset]
        name = f"{scatter.task}, {scatter.subset}, {len(scatter.gold):,} pairs"
        self.scatters[key] = {
            "name": printable(name),
            "gold": _packed(scatter.gold),
            "scores": {
                str(self.runs.index(run)): _packed(scores) for run, scores in scatter.scores.items()
            },
            "scale": [here["bottom"].iloc[0], here["top"].iloc[0]] if len(here) else None,
            "within": {str(self.runs.index(row.run)): row.within for row in here.itertuples()},
            "texts": list(map(printable, scatter.texts)),
        }
        return (
            f'<figure data-scatter="{key}"><figcaption>{text(name)}'
            '<span class="within" aria-live="polite"></span></figcaption>'
            f'<div class="chart" role="group" aria-label="{text(f"Scatter plot of {name}")}">'
            "</div></figure>"
        )

    def _ranking(self, task: str, split: str) -> Iterator[str]:
        if _of(self.data.distribution, task, split).empty:
            return
        yield '<div class="grid">'
        for subset, rows in _of(self.data.distribution, task, split).groupby("subset", sort=False):
            title = f"Distribution of {rows['metric'].iloc[0]} over {rows['of'].iloc[0]:,} queries"
            title = _titled(title, str(subset))
            spec = self.draw.distribution(rows, f"{title}. The upright mark is the mean.")
            yield self._figure(spec, f"{title}; the upright mark is the mean", [_bins_table(rows)])
        for subset, rows in _of(self.data.ties, task, split).groupby("subset", sort=False):
            title = f"{rows[rows['main']]['metric'].iloc[0]} over the orders of equal scores"
            title = _titled(title, str(subset))
            spec = self.draw.ties(rows[rows["main"]], title)
            yield self._figure(spec, f"{title}, worst to best", [ties_table(rows)])
        for subset, rows in _of(self.data.differing, task, split).groupby("subset", sort=False):
            metric = str(rows["metric"].iloc[0])
            title = _titled("Queries on which the models differ most", str(subset))
            exact = rows.assign(low=math.nan, high=math.nan)
            spec = self.draw.dots(exact, "query", self.runs, title, title=metric)
            yield self._figure(spec, title, [_differing_table(rows)])
        yield "</div>"

    def _breakdown(self, task: str, split: str) -> Iterator[str]:
        found = _of(self.data.breakdown, task, split)
        for _, rows in found.groupby("dataset_revision", sort=False):
            metric = str(rows["metric"].iloc[0])
            title = f"{metric} by part of the data"
            spec = self.draw.dots(rows, "part", self.runs, f"{title} of {task}.", title=metric)
            yield self._figure(spec, title, [_breakdown_table(rows)])

    def _versions(self, version: str) -> Iterator[str]:
        rows = []
        for kind, group in self.data.headlines.groupby(_KIND, sort=False):
            first = next(group.itertuples())
            n = "" if group["n"].isna().any() else f"{first.n:,}"
            versions = ", ".join(sorted(set(group["mteb_version"])))
            rows.append((first.task, first.split, first.edition, kind[2], n, versions))
        columns = ("task", "split", "data", "dataset revision", "pairs or queries", "mteb")
        yield _table(Table("Data", columns, rows))
        yield _note(f"Read by mteb-ext {version}.")
        for remark in self.data.remarks:
            yield _note(remark)

    def _figure(self, spec: dict[str, Any], title: str, tables: Sequence[Table]) -> str:
        key = f"c{len(self.charts)}"
        self.charts[key] = spec
        inner = Markup("").join(map(_table, tables))
        return (
            f'<figure data-chart="{key}"><figcaption>{text(title)}</figcaption>'
            f'<div class="chart" role="group" aria-label="{text(spec["description"])}"></div>'
            f"{_details('As a table', inner) if inner else ''}</figure>"
        )


def _metric(row: Any) -> str:  # noqa: ANN401 - a headline
    return metric_name(row.metric, row.subset, row.subsets, row.all_subsets)


def _data_of(row: Any) -> str:  # noqa: ANN401 - a headline
    return f"{row.edition} of the data" if row.edition == OTHER else f"{row.edition} data"


def _of(frame: pd.DataFrame, task: str, split: str) -> pd.DataFrame:
    if frame.empty:
        return frame.assign(subset=[], dataset_revision=[])
    return frame[(frame["task"] == task) & (frame["split"] == split)]


def _titled(title: str, subset: str) -> str:
    return title if subset == "default" else f"{title}, {subset}"


def _counted(n: int, noun: str) -> str:
    return f"{n} {noun}{'' if n == 1 else 's'}"


def _published_table(rows: pd.DataFrame) -> Table:
    return Table(
        "Published numbers of the same variant",
        ("system", "score", "variant", "paper"),
        [
            (
                row.system + (" (ambiguous)" if row.ambiguous else ""),
                number(row.value, row.decimals),
                row.variant,
                row.source,
            )
            for row in rows.itertuples()
        ],
    )


def _rescaled_table(rows: pd.DataFrame) -> Table:
    columns = ("model", "subset", "pairs", "smallest score", "largest score", "within 1.0 of gold")
    return Table(
        "Scores rescaled to the rating scale",
        columns,
        [
            (
                *(row.run, row.subset, f"{row.n:,}", number(row.smallest), number(row.largest)),
                f"{row.within:.1%}",
            )
            for row in rows.itertuples()
        ],
        ["Footnote 20 of the SemEval-2017 paper: bottom + (top - bottom) (s - min) / (max - min)."],
    )


def _bins_table(rows: pd.DataFrame) -> Table:
    by_run = [(run, list(bins["queries"])) for run, bins in rows.groupby("run", sort=False)]
    ranges = [
        f"{row.low:.2f} to {row.high:.2f}" for row in rows.iloc[: len(by_run[0][1])].itertuples()
    ]
    body = [(name, *(str(n[i]) for _, n in by_run)) for i, name in enumerate(ranges)]
    return Table("Queries by score", ("score", *(str(run) for run, _ in by_run)), body)


def _differing_table(rows: pd.DataFrame) -> Table:
    runs = list(dict.fromkeys(rows["run"]))
    with_text = bool(rows["text"].any())
    body = [
        (
            *(str(query), number(group["spread"].iloc[0]), *map(number, group["value"])),
            *([group["text"].iloc[0]] if with_text else []),
        )
        for query, group in rows.groupby("query", sort=False)
    ]
    columns = ("query", "spread", *runs, *(["text"] if with_text else []))
    return Table("Queries on which the models differ most", columns, body)


def _breakdown_table(rows: pd.DataFrame) -> Table:
    runs = sorted(set(rows["run"]))
    body = []
    for part, group in rows.groupby("part", sort=False):
        values = dict(zip(group["run"], group["value"], strict=True))
        body.append((str(part), *(number(values.get(run, float("nan"))) for run in runs)))
    return Table("By part", ("part", *runs), body)


def _table(table: Table) -> Markup:
    return Markup(macros().table(table))


def _details(summary: str, *inner: str) -> Markup:
    return Markup(macros().details(summary, Markup("").join(inner)))


def _note(line: str) -> Markup:
    return Markup(macros().note(line))


def _packed(values: NDArray[np.float64]) -> Mapping[str, Any]:
    """Numbers as 16 bits each between the smallest and the largest: finer than a screen."""
    low, high = float(values.min()), float(values.max())
    from mteb_ext.pages.report.data import shares

    codes = np.rint(shares(values) * _LEVELS).astype("<u2")
    return {"low": low, "high": high, "codes": base64.b64encode(codes.tobytes()).decode("ascii")}


def _json(value: object) -> Markup:
    """JSON that cannot end the script element that it stands in."""
    written = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return Markup(written.replace("<", "\\u003c"))


def _script(code: str) -> Markup:
    return Markup(code.replace("</script", "<\\/script"))
