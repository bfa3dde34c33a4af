"""The report page: one HTML file that opens offline and fetches nothing.

It holds the script that draws the charts, the charts' data, and every number in tables as well. A
policy in its head forbids the browser to load anything else.
"""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING

from mteb_ext.errors import MtebExtError
from mteb_ext.pages.html import Markup, render
from mteb_ext.tables.text import printable

if TYPE_CHECKING:
    from mteb_ext.pages.report.data import PageData


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
    from mteb_ext.pages.report import charts
    from mteb_ext.pages.report.sections import Sections

    models, tasks = data.headlines["run"].nunique(), data.headlines["task"].nunique()
    sections = Sections(data)
    values = {
        "title": f"Results of {_counted(models, 'model')} on {_counted(tasks, 'task')}",
        "version": version,
        "command": command,
        "models": sections.models(),
        "headlines": sections.headlines(),
        "tasks": sections.tasks(),
        "versions": sections.versions(),
        "remarks": data.remarks,
        "bundle": _script(_bundle()),
    }
    drawn = {
        "config": charts.CONFIG,
        "runs": list(map(printable, sections.runs)),
        "charts": sections.charts,
        "scatter": charts.scatter(),
        "scatters": sections.scatters,
    }
    return render("report/page.html", {**values, "data": _json(drawn)})


@cache
def _bundle() -> str:
    """Vega-Embed and all that it needs, as one script; it takes seconds to make."""
    import vl_convert

    return str(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;"))


def _counted(n: int, noun: str) -> str:
    return f"{n} {noun}{'' if n == 1 else 's'}"


def _json(value: object) -> Markup:
    """JSON that cannot end the script element that it stands in."""
    written = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return Markup(written.replace("<", "\\u003c"))


def _script(code: str) -> Markup:
    return Markup(code.replace("</script", "<\\/script"))
