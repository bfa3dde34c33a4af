"""What ``mteb-ext compare`` shows: on a terminal, and in the forms that people publish.

Every form shows the same frames, those of :class:`mteb_ext.analysis.comparing.Compared`.
"""

from __future__ import annotations

import html
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mteb_ext.metrics.comparison import SPARSE as _SPARSE
from mteb_ext.tables.table import Table
from mteb_ext.tables.text import (
    interval,
    metric_name,
    number,
    p_value,
    printable,
    spreadsheet_cell,
)

if TYPE_CHECKING:
    import pandas as pd

    from mteb_ext.analysis.comparing import Compared

_BEST_PUBLISHED = 3  # of each test set
_LETTERED = 15  # models, up to which letters can be read


def comparison_tables(compared: Compared) -> Iterator[Table]:
    """The tables for a terminal: scores with their letters, and the headlines' differences."""
    if len(compared.groups):
        yield _groups_table(compared.groups)
    if len(compared.ranks):
        yield ranks_table(compared.ranks)
    yield _scores_table(compared.scores)
    whole = compared.pairs[compared.pairs["whole"]]
    n_single = len(compared.pairs) - len(whole)
    notes = [f"{n_single} more on single subsets: --format csv or json."] if n_single else []
    yield _pairs_table(whole, [*caption(compared, bold=False), RESOLVABLE, SPARSE, *notes])
    sets = compared.scores[compared.scores["whole"]][["task", "subset", "metric"]]
    published = compared.published.merge(sets.drop_duplicates(), on=list(sets))
    if len(published):
        yield _published_table(published)


RESOLVABLE = (
    "resolvable: the smallest true difference that p finds with a chance of 80%, by the observed "
    "paired spread; corrected: that p corrected finds, which the letters go by."
)
SPARSE = (
    f"*: the models differ on fewer than {_SPARSE} queries or pairs. The interval is too narrow: "
    "go by p, which is exact."
)


def ranks_table(ranks: pd.DataFrame) -> Table:
    """Ranks over tasks, with their sets: rows of `RankRow`, at least one."""
    n_tasks = int(ranks["tasks"].iloc[0])
    rows = [
        (
            *(row.run, str(row.rank), _ends(row.rank_low, row.rank_high)),
            *(number(row.mean_z, 2), interval(row.mean_z_low, row.mean_z_high, 2)),
            *(str(row.borda), _ends(row.borda_low, row.borda_high)),
        )
        for row in _rows(ranks)
    ]
    columns = ("model", "rank", "set", "mean z", "interval", "Borda", "range")
    title = "Ranks over tasks" if n_tasks > 1 else "Ranks"
    return Table(title, columns, rows, [ranks_note(n_tasks)])


def ranks_note(n_tasks: int) -> str:
    """What must be said beside ranks over tasks."""
    tasks = f"these {n_tasks} tasks" if n_tasks > 1 else "this task"
    same = "the same tasks" if n_tasks > 1 else "the same task"
    return (
        f"Ranks are for {tasks}, taken as given. Intervals say how other items of "
        f"{same} could reorder the models; they say nothing about other tasks. Mean z "
        "depends on which models are shown."
    )


def _ends(low: int, high: int) -> str:
    return str(low) if low == high else f"{low} to {high}"


def caption(compared: Compared, *, bold: bool) -> list[str]:
    """What a table of scores must say: tests, correction, level, marks and editions of the data."""
    pairs, scores = compared.pairs, compared.scores
    whole = pairs[pairs["whole"]]
    metrics: dict[str, dict[str, None]] = {}
    for row in _rows(whole):
        metrics.setdefault(row.test, {})[_set(row)[-1]] = None
    tests = "; ".join(f"{test} ({', '.join(names)})" for test, names in metrics.items())
    if (scores["beside_baseline"] == "").all():
        marks = (
            "Models that share a letter do not differ significantly."
            if _lettered(scores)
            else "Beside each score the set of ranks that the comparisons leave to it."
        )
        marks += " Bold: significantly better than every other model." if bold else ""
        family = "all pairs of models"
    else:
        baseline = scores.loc[scores["beside_baseline"] == "baseline", "run"].iloc[0]
        marks = f"+ and -: significantly better and worse than {baseline}."
        family = f"all models beside {baseline}"
    data = dict.fromkeys(
        f"{row.task} {row.edition} ({row.dataset_revision[:19]})" for row in _rows(scores)
    )
    apart = whole.groupby(["task", "split", "subset"])["metric"].nunique().max() > 1
    return [
        f"Tests: {tests}. Two-sided, at the {100 * compared.level:g}% level, corrected on each "
        f"test set for {family} "
        f"(step-down resampling){', each metric by itself' if apart else ''}.",
        marks,
        f"Data: {'; '.join(data)}.",
        *compared.remarks,
    ]


def _rows(frame: pd.DataFrame) -> Iterator[Any]:
    yield from frame.itertuples(index=False)


def _set(row: Any) -> tuple[str, ...]:  # noqa: ANN401 - a row
    name = metric_name(row.metric, row.subset, row.subsets, row.all_subsets)
    return row.task, row.split, row.subset, name


def _mark(row: Any, letters: bool) -> str:  # noqa: ANN401 - a row
    """A score's letters; where there are too many models for them, its set of ranks."""
    if letters or row.beside_baseline:
        return str(row.letters)
    return _ends(row.rank_low, row.rank_high)


def _lettered(scores: pd.DataFrame) -> bool:
    return bool(scores["run"].nunique() <= _LETTERED)


def _scores_table(scores: pd.DataFrame) -> Table:
    letters = _lettered(scores)
    return Table(
        "Scores",
        (
            "task",
            "split",
            "subset",
            "metric",
            "n",
            "model",
            "score",
            "groups",
            "rank",
            "best or tied",
        ),
        [
            (
                *_set(row),
                f"{row.n:,} {row.unit}",
                row.run,
                number(row.value),
                _mark(row, letters) or row.beside_baseline,
                "" if row.beside_baseline else _ends(row.rank_low, row.rank_high),
                "yes" if row.not_worse is True else "",
            )
            for row in _rows(scores)
        ],
    )


def _pairs_table(pairs: pd.DataFrame, notes: Sequence[str]) -> Table:
    columns = (
        *("task", "split", "subset", "metric", "first", "second", "difference", "interval"),
        *("won/tied/lost", "p", "p corrected", "resolvable", "corrected"),
    )
    rows = [
        (
            *_set(row),
            row.first,
            row.second,
            number(row.difference),
            interval(row.low, row.high, 4) + ("*" if row.sparse else ""),
            f"{row.wins}/{row.ties}/{row.losses}" if row.unit == "queries" else "",
            p_value(row.p),
            p_value(row.p_adjusted),
            number(row.resolvable),
            number(row.resolvable_adjusted),
        )
        for row in _rows(pairs)
    ]
    return Table("Differences", columns, rows, notes)


def _groups_table(groups: pd.DataFrame) -> Table:
    return Table(
        "Runs by model",
        (
            *("task", "split", "metric", "model", "runs", "mean", "sd", "lowest", "highest"),
            *("compared run", "score", "by"),
        ),
        [
            (
                *(row.task, row.split, row.metric, row.model, str(row.runs)),
                *(number(value) for value in (row.mean, row.sd, row.lowest, row.highest)),
                *(row.run, number(row.value), row.chosen_by),
            )
            for row in _rows(groups)
        ],
        ["by: what chose the run that stands for its model in the tests."],
    )


def _published_table(published: pd.DataFrame) -> Table:
    best = published.groupby(["task", "subset", "metric", "variant"], sort=False)
    return Table(
        f"Published, without a test: the best {_BEST_PUBLISHED} of each variant",
        ("task", "subset", "metric", "variant", "system", "score", "paper"),
        [
            (
                *(row.task, row.subset, row.metric, row.variant),
                row.system + (" (ambiguous)" if row.ambiguous else ""),
                number(row.value, row.decimals),
                row.source,
            )
            for row in _rows(best.head(_BEST_PUBLISHED))
        ],
    )


@dataclass(frozen=True)
class _Markup:
    """How one language writes the parts of a table."""

    text: Callable[[str], str]
    bold: Callable[[str], str]
    superscript: Callable[[str], str]
    value: Callable[[str], str] = str


def _matrix(
    scores: pd.DataFrame, markup: _Markup
) -> tuple[list[tuple[str, str]], list[tuple[str, list[str]]]]:
    """The whole scores, a row a model and a column a test set.

    Returns:
        The columns' names, task and metric, and each model's name and cells, all in the markup.
    """
    whole = scores[scores["whole"]]
    sets = list(dict.fromkeys(map(_set, _rows(whole))))
    cells: dict[str, dict[tuple[str, ...], str]] = {}
    letters = _lettered(scores)
    for row in _rows(whole):
        value = markup.value(number(row.value))
        beside = {"better": "+", "worse": "-"}.get(row.beside_baseline, "")
        mark = _mark(row, letters) or beside
        cell = markup.bold(value) if row.best else value
        cells.setdefault(row.run, {})[_set(row)] = cell + (markup.superscript(mark) if mark else "")
    header = [
        (markup.text(task if split == "test" else f"{task} {split}"), markup.text(metric))
        for task, split, _, metric in sets
    ]
    rows = [
        (markup.text(run), [by_set.get(name, "") for name in sets]) for run, by_set in cells.items()
    ]
    return header, rows


def to_latex(compared: Compared) -> str:
    """A table for booktabs, with the caption that it needs."""
    header, rows = _matrix(compared.scores, _LATEX)
    lines = [
        "% needs \\usepackage{booktabs}, and LuaLaTeX or XeLaTeX for names beyond Latin letters",
        "\\begin{table}",
        "\\centering",
        f"\\caption{{{_LATEX.text(' '.join(caption(compared, bold=True)))}}}",
        "\\label{tab:comparison}",
        f"\\begin{{tabular}}{{l{'l' * len(header)}}}",
        "\\toprule",
        " & ".join(["Model", *(task for task, _ in header)]) + " \\\\",
        " & ".join(["", *(metric for _, metric in header)]) + " \\\\",
        "\\midrule",
        *(
            " & ".join([model, *(cell or "--" for cell in cells)]) + " \\\\"
            for model, cells in rows
        ),
        "\\bottomrule",
        "\\end{tabular}",
        "\\end{table}",
    ]
    return "\n".join(lines) + "\n"


def to_markdown(compared: Compared, *, table_only: bool = False) -> str:
    """The scores, and the headlines' differences unless only the table is wanted."""
    header, rows = _matrix(compared.scores, _MARKDOWN)
    scores = [
        ["model", *(f"{task} {metric}" for task, metric in header)],
        *([model, *cells] for model, cells in rows),
    ]
    tables = [_markdown_table(scores)]
    if table_only:
        notes = [_MARKDOWN.text(line) for line in caption(compared, bold=True)]
        return "\n\n".join([*tables, *notes]) + "\n"
    for table in _further_tables(compared):
        cells = [[_MARKDOWN.text(cell) for cell in row] for row in (table.columns, *table.rows)]
        tables.append(_markdown_table(cells))
    notes = [_MARKDOWN.text(line) for line in (*caption(compared, bold=True), RESOLVABLE, SPARSE)]
    return "\n\n".join([*tables, *notes]) + "\n"


def _further_tables(compared: Compared) -> Iterator[Table]:
    """The headlines' differences, and the runs where they are grouped by model."""
    if len(compared.ranks):
        yield ranks_table(compared.ranks)
    yield _pairs_table(compared.pairs[compared.pairs["whole"]], [])
    if len(compared.groups):
        yield _groups_table(compared.groups)


def _markdown_table(rows: Sequence[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([lines[0], f"|{' --- |' * len(rows[0])}", *lines[1:]])


def to_html(compared: Compared) -> str:
    """A page without style or script: the scores and the headlines' differences."""
    header, rows = _matrix(compared.scores, _HTML)
    scores = [
        ["model", *(f"{task}<br>{metric}" for task, metric in header)],
        *([model, *cells] for model, cells in rows),
    ]
    further = [
        _html_table(
            table.title,
            [[_HTML.text(cell) for cell in row] for row in (table.columns, *table.rows)],
        )
        for table in _further_tables(compared)
    ]
    lines = [
        '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>Comparison</title>',
        _html_table("Scores", scores),
        *further,
        *(
            f"<p>{_HTML.text(line)}</p>"
            for line in (*caption(compared, bold=True), RESOLVABLE, SPARSE)
        ),
    ]
    return "\n".join(lines) + "\n</html>\n"


def _html_table(title: str, rows: Sequence[Sequence[str]]) -> str:
    header, *body = rows
    lines = [f"<table>\n<caption>{title}</caption>", f"<tr>{_html_cells(header, 'th')}</tr>"]
    lines += [f"<tr>{_html_cells(row, 'td')}</tr>" for row in body]
    return "\n".join([*lines, "</table>"])


def _html_cells(cells: Sequence[str], tag: str) -> str:
    return "".join(f"<{tag}>{cell}</{tag}>" for cell in cells)


def to_csv(compared: Compared) -> str:
    """Every difference, with all digits: the frame of pairs."""
    return _csv(compared.pairs)


def items_to_csv(compared: Compared) -> str:
    """Every difference, item by item, with all digits."""
    parts = (_csv(part, header=i == 0) for i, part in enumerate(compared.item_differences()))
    return "".join(parts)


def _csv(frame: pd.DataFrame, *, header: bool = True) -> str:
    cells = frame.copy()
    for name in cells.select_dtypes(exclude="number"):
        of_text = {v: spreadsheet_cell(v) for v in cells[name].unique() if isinstance(v, str)}
        cells[name] = [of_text.get(v, v) for v in cells[name]]
    return str(cells.to_csv(index=False, header=header))


def to_json(compared: Compared) -> str:
    """All frames with all digits, a list of rows each."""
    frames = {
        name: [_row(row) for row in frame.astype(object).to_dict("records")]
        for name, frame in (
            ("scores", compared.scores),
            ("pairs", compared.pairs),
            ("published", compared.published),
            ("groups", compared.groups),
            ("ranks", compared.ranks),
            ("records", compared.records),
        )
    }
    return json.dumps({**frames, "remarks": list(compared.remarks)}, indent=1) + "\n"


def _row(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: None if isinstance(value, float) and math.isnan(value) else _printable(value)
        for name, value in row.items()
    }


def _printable(value: Any) -> Any:  # noqa: ANN401 - a cell
    return printable(value) if isinstance(value, str) else value


def _minus(text: str) -> str:
    return text.replace("-", "$-$")  # a hyphen is no minus sign


_TEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{char: f"\\{char}" for char in "&%$#_{}"},
}
_LATEX = _Markup(
    text=lambda text: "".join(_TEX.get(char, char) for char in printable(text)),
    bold="\\textbf{{{}}}".format,
    superscript=lambda mark: f"\\textsuperscript{{{_minus(mark)}}}",
    value=_minus,
)
_MARKDOWN = _Markup(
    text=lambda text: re.sub(
        r"([\\`*_\[\]|~])", r"\\\1", html.escape(printable(text), quote=False)
    ),
    bold="**{}**".format,
    superscript="<sup>{}</sup>".format,
)
_HTML = _Markup(
    text=lambda text: html.escape(printable(text)),
    bold="<strong>{}</strong>".format,
    superscript="<sup>{}</sup>".format,
)

FORMATS: Mapping[str, Callable[[Compared], str]] = {
    "markdown": to_markdown,
    "latex": to_latex,
    "csv": to_csv,
    "json": to_json,
    "html": to_html,
}
"""How a comparison is written, by the format's name."""
