"""Where results stand among the published numbers of the same protocol variant."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from mteb_ext.analysis.editions import PAPERS
from mteb_ext.analysis.summary import label_runs
from mteb_ext.errors import MtebExtError
from mteb_ext.published import beside_published, scores_by_variant, standing

if TYPE_CHECKING:
    import pandas as pd

logger = logging.getLogger(__name__)

COLUMNS = (
    *("run", "task", "subset", "metric", "variant", "value"),
    *("best", "best_decimals", "best_system", "better", "of", "ambiguous"),
)


def published_standings(results: pd.DataFrame) -> pd.DataFrame:
    """Every score that follows a published variant, beside the best number of that variant.

    Args:
        results: From :func:`mteb_ext.analysis.load_results`. Only test scores on a paper's own data
            count.

    Returns:
        A row for each score, with the columns `COLUMNS`: ``better`` of the ``of`` settled numbers
        are higher at the precision that they are printed with, and ``ambiguous`` numbers, of which
        it is not settled that they follow the variant, are not counted among them. A result that
        lacks a key of a variant is named by a logged warning and left out.
    """
    import pandas as pd

    rows: list[tuple[Any, ...]] = []
    usable = results[(results["edition"] == PAPERS) & (results["split"] == "test")]
    usable = usable.assign(run=label_runs(results)).query("subset != ''")
    for (run, path), result in usable.groupby(["run", "path"], sort=False):
        try:
            rows += [(run, *row) for row in _of_result(result)]
        except MtebExtError as error:
            logger.warning("%s is left out: %s", path, error)
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _of_result(result: pd.DataFrame) -> Iterator[tuple[Any, ...]]:
    task = result["task"].iloc[0]
    entries = [
        {"hf_subset": subset, **dict(zip(scores["metric"], scores["value"], strict=True))}
        for subset, scores in result.groupby("subset", sort=False)
    ]
    for variant, scores in scores_by_variant(task, entries):
        beside = beside_published(task, scores, variant=variant)
        for (subset, metric), value in scores.items():
            here = (beside["subset"] == subset) & (beside["metric"] == metric)
            others = beside[here & ~beside["ours"]]
            if not others.empty:
                best = others.iloc[0]
                names = (best["value"], best["decimals"], best["system"])
                yield (task, subset, metric, variant, value, *names, *standing(value, others))
