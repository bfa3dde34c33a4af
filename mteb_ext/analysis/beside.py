"""Results beside the published numbers of the same protocol variant."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from mteb_ext.analysis.editions import PAPERS, measure_in, task_if_known
from mteb_ext.analysis.summary import label_runs
from mteb_ext.published import COLUMNS as PUBLISHED_COLUMNS
from mteb_ext.published import published_for, standing, to_frame, variants_of

if TYPE_CHECKING:
    import pandas as pd

logger = logging.getLogger(__name__)

COLUMNS = (
    *("run", "task", "subset", "metric", "variant", "value"),
    *("best", "best_decimals", "best_system", "better", "of", "ambiguous"),
)


def published_beside(scores: pd.DataFrame) -> pd.DataFrame:
    """The published numbers of the variants that scores follow, each once.

    Args:
        scores: Rows with task, split, subset, metric, edition, subsets and all_subsets.

    Returns:
        The columns of a published table, with our result key as the metric. Only test scores on a
        paper's own data, over all subsets where they are a mean, have published numbers.
    """
    import pandas as pd

    followed = comparable(scores)[["task", "subset", "metric"]].drop_duplicates()
    found = [to_frame([], PUBLISHED_COLUMNS)]
    for task, subset, key in followed.itertuples(index=False):
        if (rows := _published(task, subset, key)) is not None:
            found.append(rows.assign(metric=key))
    return pd.concat(found[1:] or found, ignore_index=True)


def comparable(scores: pd.DataFrame) -> pd.DataFrame:
    """The scores that published numbers can stand beside."""
    of_paper = (scores["edition"] == PAPERS) & (scores["split"] == "test")
    whole = (scores["subset"] != "") | (scores["subsets"] == scores["all_subsets"])
    return scores[of_paper & whole]


def _published(task: str, subset: str, key: str) -> pd.DataFrame | None:
    """The published numbers of a score's variants; None where it follows none."""
    if not variants_of(task):
        return None
    measure = measure_in(task_if_known(task), "test", subset, key)
    found = published_for(task, subset, measure) if measure else None
    return None if found is None or found.empty else found


def published_standings(results: pd.DataFrame) -> pd.DataFrame:
    """Every score that follows a published variant, beside the best number of that variant.

    Args:
        results: From :func:`mteb_ext.analysis.load_results`.

    Returns:
        A row for each score, with the columns `COLUMNS`: ``better`` of the ``of`` settled numbers
        are higher, at their printed precision. ``ambiguous`` counts the numbers that may follow
        another variant; ``of`` leaves them out. A warning names each measure of a variant that a
        result lacks.
    """
    import pandas as pd

    usable = comparable(results.assign(run=label_runs(results)))
    for (path, subset), result in usable.groupby(["path", "subset"], sort=False):
        _warn_of_missing(str(path), str(subset), result)
    rows = [
        (row.run, row.task, row.subset, *found)
        for row in usable.itertuples()
        for found in _standings(row)
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _standings(row: Any) -> Iterator[tuple[Any, ...]]:  # noqa: ANN401 - of a frame
    published = _published(row.task, row.subset, row.metric)
    if published is None:
        return
    for (variant, metric), others in published.groupby(["variant", "metric"], sort=False):
        best = others.iloc[0]
        names = (best["value"], best["decimals"], best["system"])
        yield (str(metric), str(variant), row.value, *names, *standing(row.value, others))


def _warn_of_missing(path: str, subset: str, result: pd.DataFrame) -> None:
    task, keys = result["task"].iloc[0], set(result["metric"])
    for variant in variants_of(task):
        missing = [str(m) for m in variant.measures.values() if str(m) not in keys]
        if subset and subset in variant.subsets[task] and missing:
            logger.warning(
                "%s holds no %s, and so no score of the published variant %s. Run it again.",
                path,
                " or ".join(missing),
                variant.id,
            )
