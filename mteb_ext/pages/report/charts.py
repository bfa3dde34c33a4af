"""The charts of the report page, as Vega-Lite specifications.

Each is as wide as the page lets it be. Names of models stand above their marks, not beside the
axis, so that long ones fit on a phone. Colours are those of Okabe and Ito, and whatever a colour
says a shape, a sign or a text says too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import altair as alt

from mteb_ext.tables.text import interval, number, printable

if TYPE_CHECKING:
    import pandas as pd

Spec: TypeAlias = dict[str, Any]

BLACK, ORANGE, SKY, GREEN, BLUE, VERMILLION, PURPLE = (
    *("#000000", "#E69F00", "#56B4E9", "#009E73"),
    *("#0072B2", "#D55E00", "#CC79A7"),
)
_COLOURS = (BLUE, VERMILLION, GREEN, PURPLE, BLACK, ORANGE, SKY)
_SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
_GREY = "#767676"

CONFIG: Spec = {
    "font": "system-ui, sans-serif",
    "axis": {"labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal"},
    "axisQuantitative": {"tickCount": 6, "grid": True},
    "legend": {
        "labelFontSize": 12,
        "labelLimit": 300,
        "orient": "bottom",
        "columns": 1,
        "symbolOpacity": 1,
    },
    "text": {"fontSize": 12},
    "view": {"stroke": None},
    "autosize": {"type": "fit-x", "contains": "padding"},
}
"""What all charts share; given to the page once."""

_ROW = 44  # pixels of a model's row: its name, and below it its marks
_NAME = -16  # where in it the name stands


def forest(rows: pd.DataFrame, published: pd.DataFrame, description: str) -> Spec:
    """Headlines of one task with their 95% intervals, and published numbers of their variant.

    Args:
        rows: Headlines of one kind, the best first.
        published: Their `published` rows.
        description: The alternative text.
    """
    runs = _values(rows, "run", "value", "low", "high")
    for row, low, high in zip(runs, rows["low"], rows["high"], strict=True):
        row["name"] = f"{number(row['value'])} {row['run']}"
        row["interval"] = interval(low, high)
    others = _published_rows(published)
    domain = _domain([*rows["value"], *rows["low"], *rows["high"], *(o["best"] for o in others)])
    order = [row["run"] for row in runs] + [row["run"] for row in others]
    x = alt.X("value:Q").scale(domain=domain, nice=False).title(None)
    y = _rows_axis(order)
    tooltip = [alt.Tooltip("run:N", title="model"), alt.Tooltip("value:Q", title="score")]
    base = alt.Chart(_data(runs)).encode(y=y)
    layers: list[Any] = [
        _intervals(runs).mark_rule(strokeWidth=3, color=SKY).encode(y=y, x=_ends(x), x2="high:Q"),
        base.mark_point(filled=True, size=90, color=BLUE, opacity=1).encode(
            x=x, tooltip=[*tooltip, alt.Tooltip("interval:N", title="95% interval")]
        ),
    ]
    if others:
        lines = alt.Chart(_data(others))
        ticks = [
            {"run": row["run"], **tick}
            for row in others
            for tick in row["ticks"]
            if domain[0] <= tick["value"] <= domain[1]
        ]
        dash = alt.StrokeDash("ambiguous:N").scale(domain=[False, True], range=[[1, 0], [4, 3]])
        layers += [
            lines.mark_rule(color=VERMILLION, strokeWidth=1.5).encode(
                x=alt.X("best:Q"), strokeDash=dash.legend(None)
            ),
            alt.Chart(_data(ticks))
            .mark_tick(color=VERMILLION, thickness=2, size=12)
            .encode(
                x=x,
                y=y,
                tooltip=[
                    alt.Tooltip("system:N"),
                    alt.Tooltip("value:Q", title="published"),
                    alt.Tooltip("variant:N"),
                ],
            ),
        ]
    names = _names([*runs, *others], y)
    return _spec(alt.layer(*layers, names), description, rows=len(order))


def _published_rows(published: pd.DataFrame) -> list[dict[str, Any]]:
    """A row for the settled numbers, and one for those that may be of another variant."""
    rows = []
    for ambiguous, group in published.groupby("ambiguous", sort=True):
        ticks = _values(group, "system", "value", "variant")
        best = group.iloc[0]
        names = " and ".join(dict.fromkeys(group[group["value"] == best["value"]]["system"]))
        count = f"{len(group)} ambiguous" if ambiguous else f"{len(group)}"
        name = f"{number(best['value'], best['decimals'])} best published ({count}):"
        rows.append(
            {
                "run": f"published, {ambiguous}",
                "name": f"{name} {printable(names)}",
                "best": float(best["value"]),
                "ambiguous": bool(ambiguous),
                "ticks": ticks,
            }
        )
    return rows


def ranks(rows: pd.DataFrame, tasks: pd.DataFrame, description: str) -> Spec:
    """Ranks over tasks with their sets, and below each the thinner sets of the single tasks.

    Args:
        rows: The columns of `RankRow`, the best first.
        tasks: The columns of `TaskRankRow`.
        description: The alternative text.
    """
    runs = _values(rows, "run", "rank", "rank_low", "rank_high")
    for row in runs:
        row["set"] = f"{row['rank_low']} to {row['rank_high']}"
        row["name"] = f"{row['rank']} ({row['set']}) {row['run']}"
    names = list(dict.fromkeys(zip(tasks["task"], tasks["split"], strict=True)))
    height = 44 + 5 * len(names)
    top = -height / 2
    y = _rows_axis([row["run"] for row in runs])
    x = alt.X("rank:Q").scale(domain=[0.5, len(runs) + 0.5], nice=False).title("rank")
    x = x.axis(values=list(range(1, len(runs) + 1)), format="d")
    tooltip = [alt.Tooltip("run:N", title="model"), "rank:Q", alt.Tooltip("set:N", title="ranks")]
    layers = [
        alt.Chart(_data(_widened(runs)))
        .mark_rule(strokeWidth=6, color=SKY, yOffset=top + 30)
        .encode(x=_ends(x, "low"), x2="high:Q", y=y, tooltip=tooltip),
        alt.Chart(_data(runs))
        .mark_point(filled=True, size=90, color=BLUE, opacity=1, yOffset=top + 30)
        .encode(x=x, y=y, tooltip=tooltip),
    ]
    for i, (task, split) in enumerate(names):
        of_task = tasks[(tasks["task"] == task) & (tasks["split"] == split)]
        bars = _values(of_task, "run", "task", "rank", "rank_low", "rank_high")
        for row in bars:
            row["set"] = f"{row['rank_low']} to {row['rank_high']}"
        layers.append(
            alt.Chart(_data(_widened(bars)))
            .mark_rule(strokeWidth=2, color=_GREY, yOffset=top + 40 + 5 * i)
            .encode(x=_ends(x, "low"), x2="high:Q", y=y, tooltip=["task:N", *tooltip])
        )
    layers.append(_names(runs, y, dy=top + 14))
    return _spec(alt.layer(*layers), description, height=height * len(runs))


def _widened(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Ranks as bars: a set of one rank has a width too."""
    return [{**row, "low": row["rank_low"] - 0.3, "high": row["rank_high"] + 0.3} for row in rows]


_WIDE, _NUMBERED = 6, 12  # models up to which a matrix has wide cells, and numbers in them


def matrix(order: Sequence[str], pairs: pd.DataFrame, description: str) -> Spec:
    """Which models differ significantly: the row's model minus the column's.

    Args:
        order: The runs, the best first.
        pairs: All comparisons of one test set.
        description: The alternative text.
    """
    place = {run: i for i, run in enumerate(order, 1)}
    cells = []
    for row in pairs.itertuples():
        for first, second, sign in ((row.first, row.second, 1), (row.second, row.first, -1)):
            difference = sign * row.difference
            better = "better" if difference > 0 else "worse"
            cells.append(
                {
                    "row": place[first],
                    "column": place[second],
                    "difference": difference,
                    "outcome": better if row.significant else "not significant",
                    "text": _signed(difference, len(order)) if row.significant else "n.s.",
                    "first": printable(first),
                    "second": printable(second),
                    "p": row.p_adjusted,
                }
            )
    x = alt.X("column:O").axis(orient="top", labelAngle=0).title(None)
    base = alt.Chart(_data(cells)).encode(x=x, y=alt.Y("row:O").title(None))
    outcomes = ["better", "not significant", "worse"]
    colour = alt.Color("outcome:N").scale(domain=outcomes, range=[BLUE, "#E8E8E8", "#F0B98D"])
    tooltip = [
        alt.Tooltip("first:N", title="row"),
        alt.Tooltip("second:N", title="column"),
        alt.Tooltip("difference:Q", format="+.4f"),
        alt.Tooltip("p:Q", title="p corrected", format=".4f"),
    ]
    white = alt.when(alt.datum["outcome"] == "better").then(alt.value("white"))
    layers = alt.layer(
        base.mark_rect(stroke="white").encode(
            color=colour.title("the row's model is").legend(columns=3), tooltip=tooltip
        ),
        base.mark_text(fontSize=12 if len(order) <= _WIDE else 10).encode(
            text="text:N", color=white.otherwise(alt.value("black"))
        ),
    )
    return _spec(layers, description, height=30 * len(order))


def _signed(difference: float, models: int) -> str:
    if models > _NUMBERED:  # cells of a few pixels
        return "+" if difference > 0 else "\N{MINUS SIGN}"
    shown = f"{difference:+.3f}".replace("-", "\N{MINUS SIGN}")
    return shown.replace("0.", ".", 1) if models > _WIDE else shown


def distribution(rows: pd.DataFrame, description: str) -> Spec:
    """How many queries score from where to where, a strip a model, and the mean."""
    bins = _values(rows, "run", "low", "high", "queries", "of", "mean")
    for row in bins:
        row["share"] = row["queries"] / row["of"]
        row["range"] = f"{row['low']:.2f} to {row['high']:.2f}"
    means = [row for row in bins if row["low"] == 0]
    means.sort(key=lambda row: (-row["mean"], row["run"]))
    for row in means:
        row["name"] = f"{number(row['mean'])} {row['run']}"
    y = _rows_axis([row["run"] for row in means])
    shown = [row for row in bins if row["queries"]]
    x = alt.X("low:Q").scale(domain=[0, 1]).title(printable(str(rows["metric"].iloc[0])))
    colour = alt.Color("share:Q").scale(scheme="blues", domainMin=0)
    colour = colour.title("share of queries").legend(format="%", direction="horizontal")
    layers = alt.layer(
        alt.Chart(_data(shown))
        .mark_bar(size=16)
        .encode(
            x=x,
            x2="high:Q",
            y=y,
            color=colour,
            tooltip=[
                alt.Tooltip("run:N", title="model"),
                alt.Tooltip("range:N", title="score"),
                alt.Tooltip("queries:Q"),
                alt.Tooltip("of:Q"),
            ],
        ),
        alt.Chart(_data(means))
        .mark_tick(color=VERMILLION, thickness=3, size=22)
        .encode(x="mean:Q", y=y),
        _names(means, y),
    )
    return _spec(layers, description, rows=len(means))


def ties(rows: pd.DataFrame, description: str) -> Spec:
    """The main score over the orders of equal scores: worst to best, expected and trec_eval's."""
    runs = _values(rows, "run", "worst", "best", "expected", "trec_eval", "tied", "n")
    runs.sort(key=lambda row: (-row["expected"], row["run"]))
    for row in runs:
        row["name"] = f"{number(row['worst'])} to {number(row['best'])} {row['run']}"
    points = [
        {"run": row["run"], "order": order, "value": row[key]}
        for row in runs
        for key, order in (("expected", "expected"), ("trec_eval", "trec_eval's order"))
    ]
    y = _rows_axis([row["run"] for row in runs])
    x = alt.X("value:Q").scale(domain=_domain([v for r in runs for v in (r["worst"], r["best"])]))
    orders = ["expected", "trec_eval's order"]
    colour = alt.Color("order:N").scale(domain=orders, range=[BLUE, VERMILLION]).title(None)
    shape = alt.Shape("order:N").scale(domain=orders, range=["circle", "diamond"]).title(None)
    layers = alt.layer(
        alt.Chart(_data(runs))
        .mark_rule(strokeWidth=6, color="#BBBBBB")
        .encode(x=_ends(x, "worst"), x2="best:Q", y=y),
        alt.Chart(_data(points))
        .mark_point(filled=True, size=80, opacity=1)
        .encode(
            x=x.title(printable(str(rows["metric"].iloc[0]))),
            y=y,
            color=colour,
            shape=shape,
            tooltip=[
                alt.Tooltip("run:N", title="model"),
                alt.Tooltip("order:N"),
                alt.Tooltip("value:Q", format=".4f"),
            ],
        ),
        _names(runs, y),
    )
    return _spec(layers, description, rows=len(runs))


def dots(
    rows: pd.DataFrame, group: str, runs: Sequence[str], description: str, *, title: str
) -> Spec:
    """Values of every run, a row a group: subsets and genres, or queries.

    Args:
        rows: The columns run, value, low, high and the group's.
        group: The group's column.
        runs: All runs of the page, so that each looks alike everywhere.
        description: The alternative text.
        title: Of the values' axis.
    """
    points = _values(rows, group, "run", "value", "low", "high", *({"text"} & set(rows)))
    groups = list(dict.fromkeys(point[group] for point in points))
    shown = [run for run in map(printable, runs) if any(p["run"] == run for p in points)]
    index = {printable(run): i for i, run in enumerate(runs)}
    colours = [_COLOURS[index[run] % len(_COLOURS)] for run in shown]
    shapes = [_SHAPES[index[run] % len(_SHAPES)] for run in shown]
    domain = _domain([*rows["value"], *rows["low"], *rows["high"]])
    x = alt.X("value:Q").scale(domain=domain, nice=False).title(printable(title))
    y = alt.Y(f"{group}:N", sort=groups).title(None).axis(labelLimit=110, grid=True)
    offset = alt.YOffset("run:N").scale(domain=shown)
    colour = alt.Color("run:N").scale(domain=shown, range=colours).title(None)
    layers = alt.layer(
        _intervals(points)
        .mark_rule(opacity=0.6)
        .encode(x=_ends(x), x2="high:Q", y=y, yOffset=offset, color=colour),
        alt.Chart(_data(points))
        .mark_point(filled=True, size=70, opacity=0.9)
        .encode(
            x=x,
            y=y,
            yOffset=offset,
            color=colour,
            shape=alt.Shape("run:N").scale(domain=shown, range=shapes).title(None),
            tooltip=[
                alt.Tooltip(f"{group}:N"),
                alt.Tooltip("run:N", title="model"),
                alt.Tooltip("value:Q", format=".4f"),
                *([alt.Tooltip("text:N")] if any(p.get("text") for p in points) else []),
            ],
        ),
    )
    return _spec(layers, description, height=len(groups) * (14 + 7 * len(shown)))


def scatter() -> Spec:
    """Gold and score; the page's script gives it the ``pairs`` and, on a scale, the ``lines``."""
    x = alt.X("score:Q").scale(zero=False, nice=False).title("model score")
    y = alt.Y("gold:Q").scale(zero=False).title("gold")
    lines = alt.Chart(alt.NamedData("lines")).mark_line(clip=True, color=VERMILLION)
    dash = alt.StrokeDash("line:N").scale(
        domain=["equal", "above", "below"], range=[[1, 0], [4, 4], [4, 4]]
    )
    layers = alt.layer(
        alt.Chart(alt.NamedData("pairs"))
        .mark_point(filled=True, size=22, opacity=0.35, color=BLUE)
        .encode(
            x=x,
            y=y,
            tooltip=[alt.Tooltip("pair:Q"), "gold:Q", "score:Q", alt.Tooltip("texts:N")],
        ),
        lines.encode(x=x, y=y, strokeDash=dash.legend(None)),
    )
    spec = _spec(layers, "", height=260)
    spec["usermeta"] = {"embedOptions": {"renderer": "canvas"}}  # thousands of points
    return spec


def _rows_axis(order: Sequence[str]) -> alt.Y:
    return alt.Y("run:N", sort=list(order)).axis(None)


def _intervals(rows: Sequence[Mapping[str, Any]]) -> alt.Chart:
    """A chart of the rows that have an interval."""
    return alt.Chart(_data([row for row in rows if row["low"] is not None]))


def _ends(x: alt.X, field: str = "low") -> alt.X:
    """The same axis over another field."""
    ends = x.copy()
    ends.shorthand = f"{field}:Q"
    return ends


def _names(rows: Sequence[Mapping[str, Any]], y: alt.Y, dy: float = _NAME) -> alt.Chart:
    chart = alt.Chart(_data([{"run": row["run"], "name": row["name"]} for row in rows]))
    chart = chart.mark_text(align="left", dy=dy, limit=330)
    named: alt.Chart = chart.encode(x=alt.value(0), y=y, text="name:N")
    return named


def _domain(values: Sequence[float] | pd.Series[float]) -> tuple[float, float]:
    """What shows all values, with some room."""
    finite = [value for value in values if value is not None and not math.isnan(value)]
    low, high = min(finite), max(finite)
    room = 0.06 * (high - low) or 0.05
    return round(low - room, 4), round(high + room, 4)


def _values(frame: pd.DataFrame, *columns: str) -> list[dict[str, Any]]:
    return [
        {name: _plain(value) for name, value in row.items()}
        for row in frame[list(columns)].to_dict("records")
    ]


def _plain(value: Any) -> Any:  # noqa: ANN401 - a cell
    if isinstance(value, str):
        return printable(value)
    return None if isinstance(value, float) and math.isnan(value) else value


def _data(rows: Sequence[Mapping[str, Any]]) -> alt.InlineData:
    return alt.InlineData(values=[dict(row) for row in rows])


def _spec(
    chart: alt.LayerChart | alt.FacetChart,
    description: str,
    *,
    rows: int = 0,
    height: float | None = None,
) -> Spec:
    sized = chart.properties(
        width="container", height=height or _ROW * rows, description=description
    )
    spec: Spec = sized.to_dict()
    for name in ("$schema", "config"):
        spec.pop(name, None)
    return spec
