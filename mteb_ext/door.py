"""What a notebook calls: the steps of the command line, as functions that return frames.

Each function is a name of `mteb_ext`. Its example runs in the tests, on made-up rows.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

from mteb_ext.analysis import load_results
from mteb_ext.analysis.comparing import Compared, compare_runs
from mteb_ext.errors import DataError, RunError

if TYPE_CHECKING:
    import pandas as pd

    from mteb_ext.verification.findings import VerifyReport

logger = logging.getLogger(__name__)

Folders = str | Path | Sequence[str | Path]


class Comparison(Compared):
    """A comparison that a notebook shows as the tables of ``mteb-ext compare``."""

    def _repr_html_(self) -> str:
        from mteb_ext.pages.html import macros
        from mteb_ext.tables.compare import comparison_tables

        return "".join(str(macros().table(table)) for table in comparison_tables(self))


def run(
    models: str | Sequence[str],
    tasks: str | Sequence[str],
    output_folder: str | Path = "results",
    *,
    batch_size: int = 32,
) -> pd.DataFrame:
    """Evaluate models on tasks in this process. What is finished is not run again.

    Args:
        models: Folders, and names that mteb or the Hugging Face hub knows.
        tasks: Names of tasks.
        output_folder: Where results and predictions go.
        batch_size: Texts that a model is given at a time.

    Returns:
        All results in the folder, as from `load_results`.

    Raises:
        DataError: If there is no such task.
        ModelError: If a folder holds no model, or there is no such name.
        RunError: If a model failed on a task. The others are finished and kept.

    Examples:
        >>> import mteb_ext
        >>> models = ["mteb-ext/token-cosine", "mteb-ext/word-count"]
        >>> results = mteb_ext.run(models, "WikiQA.sample", "results")
        >>> sorted(results["model"].unique())
        ['mteb-ext/token-cosine', 'mteb-ext/word-count']
    """
    from mteb_ext.running.engines import run_here
    from mteb_ext.running.models import ModelSpec
    from mteb_ext.running.plan import Options, Plan, units
    from mteb_ext.running.prepare import cells_of, jobs_of, with_distinct_names
    from mteb_ext.running.store import Store

    specs = [ModelSpec(name) for name in dict.fromkeys(_several(models))]
    names = tuple(dict.fromkeys(map(str, _several(tasks))))
    plan = Plan(with_distinct_names(specs), names, Options(batch_size=batch_size))
    cells = cells_of(plan)
    store = Store(Path(output_folder).absolute())
    store.check()
    events = list(run_here(jobs_of(plan, units(cells, 1), store)))
    for event in events:
        if event.status == "skipped":
            logger.warning("%s is skipped: %s", event.task, event.message)
    failed = [event for event in events if event.status == "failed"]
    if failed:
        raise RunError("; ".join(f"{event.name} {event.message}" for event in failed))
    return load_results(output_folder)


def compare(
    folders: Folders,
    tasks: str | Sequence[str] = (),
    *,
    metric: str | Sequence[str] = (),
    baseline: str | None = None,
    level: float = 0.05,
) -> Comparison:
    """Test which differences of models are real, from their prediction files.

    Args:
        folders: What `run` was given as its output folder, or folders above.
        tasks: Tasks; all that are found if left out.
        metric: Result keys, for example ``ndcg_at_10``; main scores if left out.
        baseline: Compare all other models with this one.
        level: The level of significance, between 0 and 1.

    Returns:
        Frames of scores with letters, of differences and of ranks.

    Raises:
        DataError: If there is nothing to compare, or files are of different data.
        UndefinedMetricError: If a model's correlation is undefined.

    Examples:
        >>> import mteb_ext
        >>> compared = mteb_ext.compare("results")
        >>> len(compared.scores), len(compared.pairs)
        (2, 1)
    """
    if not 0 < level < 1:
        raise DataError(f"level {level}: give a number between 0 and 1, as 0.05.")
    found = compare_runs(folders, tasks, metric=metric, baseline=baseline, level=level)
    return Comparison(**{field.name: getattr(found, field.name) for field in fields(found)})


def ties(folders: Folders, tasks: str | Sequence[str] = ()) -> pd.DataFrame:
    """Compute what the order of equal scores could do to ranking metrics.

    Args:
        folders: What `run` was given as its output folder, or folders above.
        tasks: Tasks; all that are found if left out.

    Returns:
        A row for each metric of each run: ``expected``, ``worst``, ``best`` and ``width``.

    Raises:
        DataError: If there are no predictions of ranking tasks.

    Examples:
        >>> import mteb_ext
        >>> ranges = mteb_ext.ties("results")
        >>> bool((ranges["worst"] <= ranges["best"]).all())
        True
    """
    from mteb_ext.analysis.ties import tie_ranges

    return tie_ranges(folders, tasks)


def verify(folders: Folders, *, against: str | Path | None = None) -> VerifyReport:
    """Compute the scores in folders again from the kept predictions, and check the rest.

    Args:
        folders: What `run` was given as its output folder, or folders above.
        against: What was there before: nothing may be removed, no main score change.

    Returns:
        The findings, and a verdict for each model, revision and task.

    Raises:
        DataError: If a folder is missing.

    Examples:
        >>> import mteb_ext
        >>> report = mteb_ext.verify("results")
        >>> len(report.verdicts)
        2
        >>> sorted({finding.code for finding in report.findings if finding.level == "error"})
        ['sample-data']
    """
    from mteb_ext.verification.verifying import verify_results

    return verify_results(folders, against=against)


def report(
    folders: Folders = "results", output: str | Path | None = None, *, texts: bool = False
) -> pd.DataFrame:
    """Collect each run's headlines with their intervals, and write the report page if asked.

    Args:
        folders: What `run` was given as its output folder, or folders above.
        output: An HTML page to write (needs the extra ``report``).
        texts: Whether the page's charts have public texts.

    Returns:
        A row a run, task and split.

    Raises:
        DataError: If there are no results.

    Examples:
        >>> import mteb_ext
        >>> mteb_ext.report("results")["task"].unique().tolist()
        ['WikiQA.sample']
    """
    from mteb_ext.analysis.summary import headlines

    results = _results(folders)
    if output is not None:
        from mteb_ext import __version__
        from mteb_ext.files import write_whole
        from mteb_ext.pages.report import report_page
        from mteb_ext.pages.report.data import page_data

        data = page_data(results, _paths(folders), texts=texts)
        page = report_page(data, "mteb_ext.report", __version__)
        write_whole(Path(output), page.encode("utf-8"))
    return headlines(results)


def leaderboard(folders: Folders, output: str | Path = "site") -> Path:
    """Write a static site of the results in folders, verified.

    Args:
        folders: What `run` was given as its output folder, or folders above.
        output: The site's folder: a new one, or one that holds an older site.

    Returns:
        The site's first page.

    Raises:
        DataError: If there are no results, or the site's folder holds something else.

    Examples:
        >>> import mteb_ext
        >>> mteb_ext.leaderboard("results", "site").name
        'index.html'
    """
    from mteb_ext import __version__
    from mteb_ext.pages.leaderboard import site_files
    from mteb_ext.pages.leaderboard.data import leaderboard as board_of
    from mteb_ext.pages.site_folder import check_place, write_site

    paths, site = _paths(folders), Path(output)
    check_place(site, paths)
    board = board_of(_results(folders), paths, verify(folders))
    write_site(site, site_files(board, __version__))
    return site / "index.html"


def _results(folders: Folders) -> pd.DataFrame:
    results = load_results(*_paths(folders))
    if results.empty:
        raise DataError(f"{', '.join(map(str, _paths(folders)))}: no results here. Run some first.")
    return results


def _paths(folders: Folders) -> list[Path]:
    return list(map(Path, _several(folders)))


def _several(given: str | Path | Sequence[str | Path]) -> Sequence[str]:
    return [str(given)] if isinstance(given, str | Path) else list(map(str, given))
