"""The forms in which people publish a comparison: Markdown, LaTeX, HTML, CSV and JSON.

Every form shows the same frames, those of :class:`mteb_ext.analysis.comparing.Compared`.
"""

from __future__ import annotations

import html
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mteb_ext.tables.compare import (
    RESOLVABLE,
    SPARSE,
    Markup,
    caption,
    further_tables,
    matrix,
)
from mteb_ext.tables.text import printable, spreadsheet_cell

if TYPE_CHECKING:
    import pandas as pd

    from mteb_ext.analysis.comparing import Compared


def to_latex(compared: Compared) -> str:
    """A table for booktabs, with the caption that it needs."""
    header, rows = matrix(compared.scores, _LATEX)
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
    header, rows = matrix(compared.scores, _MARKDOWN)
    scores = [
        ["model", *(f"{task} {metric}" for task, metric in header)],
        *([model, *cells] for model, cells in rows),
    ]
    tables = [_markdown_table(scores)]
    if table_only:
        notes = [_MARKDOWN.text(line) for line in caption(compared, bold=True)]
        return "\n\n".join([*tables, *notes]) + "\n"
    for table in further_tables(compared):
        cells = [[_MARKDOWN.text(cell) for cell in row] for row in (table.columns, *table.rows)]
        tables.append(_markdown_table(cells))
    notes = [_MARKDOWN.text(line) for line in (*caption(compared, bold=True), RESOLVABLE, SPARSE)]
    return "\n\n".join([*tables, *notes]) + "\n"


def _markdown_table(rows: Sequence[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([lines[0], f"|{' --- |' * len(rows[0])}", *lines[1:]])


def to_html(compared: Compared) -> str:
    """A page without style or script: the scores and the headlines' differences."""
    header, rows = matrix(compared.scores, _HTML)
    scores = [
        ["model", *(f"{task}<br>{metric}" for task, metric in header)],
        *([model, *cells] for model, cells in rows),
    ]
    further = [
        _html_table(
            table.title,
            [[_HTML.text(cell) for cell in row] for row in (table.columns, *table.rows)],
        )
        for table in further_tables(compared)
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
_LATEX = Markup(
    text=lambda text: "".join(_TEX.get(char, char) for char in printable(text)),
    bold="\\textbf{{{}}}".format,
    superscript=lambda mark: f"\\textsuperscript{{{_minus(mark)}}}",
    value=_minus,
)
_MARKDOWN = Markup(
    text=lambda text: re.sub(
        r"([\\`*_\[\]|~])", r"\\\1", html.escape(printable(text), quote=False)
    ),
    bold="**{}**".format,
    superscript="<sup>{}</sup>".format,
)
_HTML = Markup(
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
