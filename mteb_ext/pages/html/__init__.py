"""The templates of all pages: one way to fill them, one style, one table.

Every value is escaped, and whatever in it does not print is shown as an escape: names of models,
tasks and files come from anywhere. HTML that is none of a template's own is `Markup`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from mteb_ext.tables.text import interval, metric_name, number, p_value, printable

__all__ = ["Markup", "asset", "macros", "paper_name", "render", "text"]

_ROOM = "mteb_ext.pages"


def render(template: str, values: Mapping[str, Any]) -> str:
    """Fill a template.

    Args:
        template: Its path in this room.
        values: What it names; a name without a value is an error.
    """
    return _environment().get_template(template).render(values)


@cache
def macros() -> Any:  # noqa: ANN401 - macros, by their names
    """The macros of ``html/macros.html``, each of which returns `Markup`."""
    return _environment().get_template("html/macros.html").module


def text(value: object) -> Markup:
    """Text as HTML."""
    return escape(printable(str(value)))


def asset(name: str) -> Markup:
    """A style sheet or a script of this room, as it is."""
    return Markup(files(_ROOM).joinpath(name).read_text("utf-8"))


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader(_ROOM, "."),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "breaks": _breaks,
        "lines": _lines,
        "number": number,
        "paper": paper_name,
        "web": _web,
    }
    environment.tests["known"] = _is_known
    environment.globals |= {
        "asset": asset,
        "interval": interval,
        "metric_name": metric_name,
        "number": number,
        "p_value": p_value,
    }
    return environment


_PRINTED = {
    "map": "MAP",
    "mrr": "MRR",
    "ndcg": "nDCG",
    "precision": "P",
    "recall": "Recall",
    "hit_rate": "Hit rate",
    "spearman": "Spearman's \N{GREEK SMALL LETTER RHO}",
    "pearson": "Pearson's r",
}
"""Metrics as papers print them, by the beginning of a result key."""


def paper_name(name: str) -> str:
    """A metric's name as papers print it: ``mean pearson`` is "mean Pearson's r"."""
    for key, shown in _PRINTED.items():
        name = re.sub(rf"\b{key}(?=\b|_at_)", shown, name)
    return re.sub(r"_at_(\d+)", r"@\1", name)


def _finalize(value: Any) -> Any:  # noqa: ANN401 - whatever a template shows
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _breaks(name: str) -> Markup:
    """A name that may be broken behind its slashes, and at no letter."""
    return Markup("/<wbr>").join(map(text, name.split("/")))


def _lines(value: str) -> Markup:
    """Text of several lines, for elements that keep them."""
    return Markup("\n").join(map(text, value.splitlines()))


def _is_known(value: Any) -> bool:  # noqa: ANN401 - a cell of a frame
    import pandas as pd

    return not pd.isna(value)


def _web(address: object) -> str | None:
    """An address that a link may lead to; None for any other, such as a script."""
    if isinstance(address, str) and re.fullmatch(r"https?://[^\s<>\"']+", address):
        return address
    return None
