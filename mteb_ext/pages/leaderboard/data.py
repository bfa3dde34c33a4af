"""All that the leaderboard shows: which scores count, the ranks, what tasks and models are."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mteb_ext.analysis.editions import MTEBS, PAPERS, SAMPLE, known_task, task_if_known
from mteb_ext.analysis.folder import Folders, ResultsFolder
from mteb_ext.bases import PaperTask
from mteb_ext.bases.task import SAMPLE_SUFFIX
from mteb_ext.data.records import Pairs
from mteb_ext.errors import DataError
from mteb_ext.formats.layout import MODEL_META
from mteb_ext.pages.report.data import PageData, page_data

if TYPE_CHECKING:
    import pandas as pd
    from mteb.abstasks import AbsTask
    from mteb.benchmarks.benchmark import Benchmark

    from mteb_ext.verification.findings import VerifyReport

SAMPLES = "Samples"
"""The benchmark of the made-up rows: it shows what a leaderboard looks like, and nothing else."""

UNITS = {"STS": "pairs", "Retrieval": "queries", "Reranking": "queries"}

SCORE_COLUMNS = (
    *("run", "model", "revision", "task", "split", "subset", "metric", "value", "low", "high"),
    *("n", "unit", "letters", "best", "tied", "worst_order", "best_order", "trec_eval"),
    *("counts", "verdict", "subsets", "all_subsets", "dataset_revision", "edition"),
    "mteb_version",
)

MODEL_FACTS = (
    *("model_type", "n_parameters", "embed_dim", "max_tokens", "similarity_fn_name", "license"),
    *("release_date", "framework", "languages", "training_datasets", "reference"),
)
"""What is shown of a model's ``model_meta.json``."""


@dataclass(frozen=True)
class Ranking:
    """The models on a benchmark.

    Attributes:
        name: The benchmark's name.
        description: What it is, in sentences.
        reference: Where its paper can be read; None for several papers.
        citation: BibTeX.
        columns: The tasks and splits that have scores that count.
        ranked: Those of them that ranks are over: the public ones, if there are any.
        ranks: The ranks of the runs that have a score in all of these, by mteb's Borda count. On
            each task a run gets a point for every other that scores lower, and half a point for
            one that scores alike; no score is averaged with another.
        runs: All runs with a score in a column: those with a rank, then the others, those with more
            columns and then those that score higher in theirs first.
        without_results: The benchmark's tasks that no score here counts of.
    """

    name: str
    description: str
    reference: str | None
    citation: str
    columns: Sequence[tuple[str, str]]
    ranked: Sequence[tuple[str, str]]
    ranks: Mapping[str, int]
    runs: Sequence[str]
    without_results: Sequence[str]


@dataclass(frozen=True)
class Leaderboard:
    """What the site shows.

    Attributes:
        scores: `SCORE_COLUMNS`: every headline, with its letters where the task's runs could be
            compared and its range over the orders of equal scores where it ranks. ``counts`` says
            whether it stands in benchmarks: the split is one that the task is evaluated on, all
            subsets are there, the data is the task's own, and the result did not fail to verify.
        rankings: The benchmarks that have scores, and `SAMPLES` if there are some.
        tasks: Every task with a result; None for one that mteb does not know here.
        models: `MODEL_FACTS` of each model, those that its files state, and mteb's verdict on what
            it was trained on.
        page: What the report page shows of the same results.
        verified: What verifying the results found.
    """

    scores: pd.DataFrame
    rankings: Sequence[Ranking]
    tasks: Mapping[str, AbsTask | None]
    models: Mapping[str, Mapping[str, Any]]
    page: PageData
    verified: VerifyReport


def leaderboard(results: pd.DataFrame, folders: Folders, verified: VerifyReport) -> Leaderboard:
    """Compute all that the leaderboard shows.

    Args:
        results: From :func:`mteb_ext.analysis.load_results`, not empty.
        folders: Where prediction files may be; what needs them is left out where they are missing.
        verified: From :func:`mteb_ext.verification.verifying.verify_results`. A result that failed
            counts nowhere, and no other is compared with it.

    Raises:
        DataError: If a folder does not exist.
    """
    failed = {result for result, verdict in verified.verdicts.items() if verdict == "failed"}
    folder = ResultsFolder.of(folders)
    page = page_data(results, folder, left_out=failed, wrong=0)
    tasks = {str(name): task_if_known(str(name)) for name in sorted(set(page.headlines["task"]))}
    scores = _scores(page, tasks, verified)
    rankings = [_ranking(benchmark, scores) for benchmark in _benchmarks(tasks)]
    models = {
        str(model): {
            **_model_facts(folder, Path(rows["path"].iloc[0]).parent / MODEL_META),
            **_zero_shot(str(model), set(rows["task"])),
        }
        for model, rows in page.headlines.groupby("model")
    }
    return Leaderboard(scores, [r for r in rankings if r.runs], tasks, models, page, verified)


def _scores(
    page: PageData, tasks: Mapping[str, AbsTask | None], verified: VerifyReport
) -> pd.DataFrame:
    import pandas as pd

    marks = {
        (row.run, row.task, row.split, row.dataset_revision): (row.letters, row.best, row.n)
        for compared in page.compared.values()
        for row in compared.scores[compared.scores["headline"]].itertuples()
    }
    orders = {
        (row.run, row.task, row.split, row.subset): (row.tied, row.worst, row.best, row.trec_eval)
        for row in (page.ties[page.ties["main"]].itertuples() if len(page.ties) else ())
    }
    rows = []
    for row in page.headlines.itertuples():
        where = (row.run, row.task, row.split)
        task = tasks[row.task]
        verdict = verified.verdicts.get((row.model, row.revision, row.task), "unverified")
        letters, best, n = marks.get((*where, row.dataset_revision), ("", False, pd.NA))
        tied, *order = orders.get((*where, row.subset), (None, *[math.nan] * 3))
        facts = row._asdict() | {
            "n": n if pd.isna(row.n) else row.n,
            "unit": UNITS.get(task.metadata.type, "") if task else "",
            "letters": letters,
            "best": best,
            "tied": tied,
            **dict(zip(("worst_order", "best_order", "trec_eval"), order, strict=True)),
            "counts": _counts(row, task) and verdict != "failed",
            "verdict": verdict,
        }
        rows.append([facts[name] for name in SCORE_COLUMNS])
    return _frame(rows)


def _frame(rows: Sequence[Sequence[Any]]) -> pd.DataFrame:
    import pandas as pd

    frame = pd.DataFrame(rows, columns=list(SCORE_COLUMNS))
    return frame.astype({"n": "Int64", "tied": "Int64", "subsets": "Int64", "all_subsets": "Int64"})


def _counts(row: Any, task: AbsTask | None) -> bool:  # noqa: ANN401 - a headline
    return (
        task is not None
        and row.split in task.metadata.eval_splits
        and row.subsets == row.all_subsets
        and row.edition in {PAPERS, MTEBS, SAMPLE}
    )


def _benchmarks(tasks: Mapping[str, AbsTask | None]) -> Iterator[Benchmark]:
    """Ours and the plugins', and one of the sample tasks among the given ones."""
    from mteb.benchmarks.benchmark import Benchmark
    from mteb.get_tasks import MTEBTasks

    from mteb_ext.plugin.benchmarks import benchmarks
    from mteb_ext.plugin.discovery import plugin_benchmarks

    yield from benchmarks()
    yield from plugin_benchmarks()
    samples = [task for task in tasks.values() if task and task.metadata.revision == SAMPLE]
    yield Benchmark(
        SAMPLES,
        MTEBTasks(samples),
        description="Made-up rows, for trying things out: these numbers mean nothing.",
    )


def _ranking(benchmark: Benchmark, scores: pd.DataFrame) -> Ranking:
    tasks = {task.metadata.name: task for task in benchmark.tasks}
    counting = scores[scores["counts"] & scores["task"].isin(list(tasks))]
    values = counting.pivot(index="run", columns=["task", "split"], values="value")
    columns = [
        (name, split)
        for name, task in tasks.items()
        for split in task.metadata.eval_splits
        if (name, split) in values.columns
    ]
    ranked = [column for column in columns if tasks[column[0]].metadata.is_public] or columns
    ranks = borda_ranks(values[ranked].dropna())
    lacking, standing = values.isna().sum(axis=1), values.rank(pct=True).mean(axis=1)
    below = {run: (lacking[run], -standing[run]) for run in values.index}
    return Ranking(
        str(benchmark.name),
        benchmark.description or "",
        benchmark.reference,
        benchmark.citation or "",
        columns,
        ranked,
        ranks,
        sorted(
            values.index,
            key=lambda run: (ranks.get(run, math.inf), *([] if run in ranks else below[run]), run),
        ),
        [name for name in tasks if name not in {task for task, _ in columns}],
    )


def borda_ranks(values: pd.DataFrame) -> dict[str, int]:
    """The ranks of runs by mteb's Borda count (``Rank`` of ``Benchmark.get_score``).

    Args:
        values: A row a run and a column a task, without gaps.

    Returns:
        1 for the run with the most points; runs with as many points share the better rank.
    """
    points = (len(values) - values.rank(ascending=False)).sum(axis=1)
    ranks: dict[str, int] = points.rank(method="min", ascending=False).astype(int).to_dict()
    return ranks


def _model_facts(folder: ResultsFolder, path: Path) -> Mapping[str, Any]:
    """What a model's file states that is text, a number or a list of texts; anybody wrote it."""
    try:
        content = folder.metadata(path)
    except DataError:
        return {}  # named when the results were loaded
    return {name: content[name] for name in MODEL_FACTS if _is_plain(content.get(name))}


def _zero_shot(model: str, tasks: Collection[str]) -> Mapping[str, str]:
    """On which tasks a model is zero-shot by mteb's own verdict, where mteb knows the model."""
    from mteb.models.model_implementations import MODEL_REGISTRY

    meta = MODEL_REGISTRY.get(model)
    trained = meta.get_training_datasets() if meta else None
    if trained is None:
        return {}
    seen = ", ".join(sorted(trained & set(tasks)))
    return {"zero-shot, by mteb": f"not on {seen}" if seen else "on all tasks here"}


def _is_plain(value: object) -> bool:
    if isinstance(value, list):
        return bool(value) and all(isinstance(item, str) for item in value)
    return isinstance(value, (str, float)) and value != ""


def example_of(name: str) -> list[tuple[str, str]]:
    """A made-up row like the task's, of its sample, as names and texts; empty if it has none."""
    sample = known_task(name.removesuffix(SAMPLE_SUFFIX) + SAMPLE_SUFFIX)
    if not isinstance(sample, PaperTask):
        return []
    split = sample.metadata.eval_splits[0]
    content, _ = sample.load(split, sample.subsets(split)[0])
    if isinstance(content, Pairs):
        texts = [content.sentence1[0], content.sentence2[0]]
        return [*(("text", text) for text in texts), ("gold", f"{content.score[0]:g}")]
    first = next(one for one in content if any(one.labels) and not all(one.labels))
    right, wrong = (first.labels.index(label) for label in (1, 0))
    return [
        ("query", first.text),
        ("relevant", first.candidates[right]),
        ("not relevant", first.candidates[wrong]),
        ("candidates", f"{len(first.candidates)}, all of which are ranked"),
    ]
