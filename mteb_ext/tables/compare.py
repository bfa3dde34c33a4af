"""What ``mteb-ext compare`` shows on a terminal: in brief, or all of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from mteb_ext.analysis.editions import PAPERS
from mteb_ext.metrics.comparison import SPARSE as _SPARSE
from mteb_ext.tables.table import Table
from mteb_ext.tables.text import (
    interval,
    metric_name,
    number,
    p_value,
)

if TYPE_CHECKING:
    import pandas as pd

    from mteb_ext.analysis.comparing import Compared

_BEST_PUBLISHED = 3  # of each test set
_LETTERED = 15  # models, up to which letters can be read
_SETS_IN_A_ROW = 4  # of a table that fits 100 columns


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


def brief_tables(compared: Compared) -> Iterator[Table]:
    """The tables for a terminal, in brief: models by tasks, ranks, and what the best is sure of."""
    if len(compared.groups):
        yield _groups_table(compared.groups)
    whole = compared.pairs[compared.pairs["whole"]]
    has_baseline = (compared.scores["beside_baseline"] != "").any()
    shown = whole if has_baseline else _of_the_best(whole)
    n_more = len(compared.pairs) - len(shown)
    sparse = [SPARSE] if shown["sparse"].any() else []
    more = f" {n_more} more difference{'s' if n_more > 1 else ''}: --all." if n_more else ""
    *parts, last = _matrix_tables(compared)
    yield from parts
    yield replace(last, notes=_brief_notes(compared))
    if len(compared.ranks) and int(compared.ranks["tasks"].iloc[0]) > 1:
        yield ranks_table(compared.ranks)
    yield _brief_pairs_table(shown, [*sparse, f"p is corrected, as the letters are.{more}"])


def _of_the_best(pairs: pd.DataFrame) -> pd.DataFrame:
    """Of each test set, the best model beside all that may be as good and the next that is not."""
    import pandas as pd

    kept = []
    for _, of_set in pairs.groupby(["task", "split", "subset", "metric"], sort=False):
        best = of_set.loc[of_set["first_value"].idxmax(), "first"]
        beside = of_set[of_set["first"] == best].sort_values("second_value", ascending=False)
        worse = beside["significant"].astype(bool)
        kept.append(beside[~worse | (worse.cumsum() == 1)])
    return pd.concat(kept)


def _brief_notes(compared: Compared) -> list[str]:
    """The caption without the editions of the data where they are the papers'."""
    others = (compared.scores["edition"] != PAPERS).any()
    if others:
        return caption(compared, bold=False)
    return [*_tests_and_marks(compared, bold=False), *compared.remarks]


def _matrix_tables(compared: Compared) -> Iterator[Table]:
    """Models by test sets, the best over all first, in as many tables as a page is wide."""
    header, rows = matrix(compared.scores, _PLAIN)
    if len(compared.ranks):
        place = {run: at for at, run in enumerate(compared.ranks["run"])}
        rows.sort(key=lambda row: place.get(row[0], len(place)))
    for start in range(0, len(header), _SETS_IN_A_ROW):
        part = slice(start, start + _SETS_IN_A_ROW)
        metrics = ("", *(metric for _, metric in header[part]))
        yield Table(
            "" if start else "Scores",
            ("model", *(task for task, _ in header[part])),
            [metrics, *((run, *cells[part]) for run, cells in rows)],
        )


def _brief_pairs_table(pairs: pd.DataFrame, notes: Sequence[str]) -> Table:
    rows = [
        (
            *(f"{_task(row.task, row.split)} {_set(row)[-1]}", row.first, row.second),
            *(f"{row.difference:+z.4f}", interval(row.low, row.high) + ("*" if row.sparse else "")),
            p_value(row.p_adjusted),
        )
        for row in _rows(pairs)
    ]
    columns = ("task", "first", "second", "difference", "interval", "p")
    return Table("Differences", columns, rows, notes)


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
    data = dict.fromkeys(
        f"{row.task} {row.edition} ({row.dataset_revision[:19]})" for row in _rows(compared.scores)
    )
    return [*_tests_and_marks(compared, bold=bold), f"Data: {'; '.join(data)}.", *compared.remarks]


def _tests_and_marks(compared: Compared, *, bold: bool) -> list[str]:
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
    apart = whole.groupby(["task", "split", "subset"])["metric"].nunique().max() > 1
    return [
        f"Tests: {tests}. Two-sided, at the {100 * compared.level:g}% level, corrected on each "
        f"test set for {family} "
        f"(step-down resampling){', each metric by itself' if apart else ''}.",
        marks,
    ]


def _rows(frame: pd.DataFrame) -> Iterator[Any]:
    yield from frame.itertuples(index=False)


def _task(task: str, split: str) -> str:
    return task if split == "test" else f"{task} {split}"


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


_DIFFERENCE = (
    *("first", "second", "difference", "interval", "won/tied/lost", "p", "p corrected"),
    *("resolvable", "corrected"),
)


def _difference(row: Any) -> tuple[str, ...]:  # noqa: ANN401 - a row
    return (
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


def _pairs_table(pairs: pd.DataFrame, notes: Sequence[str]) -> Table:
    columns = ("task", "split", "subset", "metric", *_DIFFERENCE)
    rows = [(*_set(row), *_difference(row)) for row in _rows(pairs)]
    return Table("Differences", columns, rows, notes)


def difference_tables(compared: Compared) -> Iterator[Table]:
    """The headlines' differences, a table for each test set, which its title names."""
    whole = compared.pairs[compared.pairs["whole"]]
    sets = [rows for _, rows in whole.groupby(["task", "split", "subset", "metric"], sort=False)]
    for rows in sets:
        first = next(_rows(rows))
        title = f"{_task(first.task, first.split)}, {_set(first)[-1]}, {first.n:,} {first.unit}"
        notes = [*caption(compared, bold=False), RESOLVABLE, SPARSE] if rows is sets[-1] else []
        yield Table(title, _DIFFERENCE, list(map(_difference, _rows(rows))), notes)


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
class Markup:
    """How one language writes the parts of a table."""

    text: Callable[[str], str]
    bold: Callable[[str], str]
    superscript: Callable[[str], str]
    value: Callable[[str], str] = str


def matrix(
    scores: pd.DataFrame, markup: Markup
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
        (markup.text(_task(task, split)), markup.text(metric)) for task, split, _, metric in sets
    ]
    rows = [
        (markup.text(run), [by_set.get(name, "") for name in sets]) for run, by_set in cells.items()
    ]
    return header, rows


def further_tables(compared: Compared) -> Iterator[Table]:
    """The headlines' differences, and the runs where they are grouped by model."""
    if len(compared.ranks):
        yield ranks_table(compared.ranks)
    yield _pairs_table(compared.pairs[compared.pairs["whole"]], [])
    if len(compared.groups):
        yield _groups_table(compared.groups)


_PLAIN = Markup(text=str, bold=str, superscript=" {}".format)
