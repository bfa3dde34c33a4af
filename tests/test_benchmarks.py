"""The benchmarks, and what mteb's tables make of their results: no mean over different metrics."""

from __future__ import annotations

import re

import mteb
import pytest
from mteb.results import BenchmarkResults, ModelResult, TaskResult

pytestmark = pytest.mark.slow  # mteb's own tables take seconds

HEADLINES = {
    "JapaneseSTSIR": ["JACSTS (spearman)", "QABot (map)"],
    "TANDA-AS2": ["WikiQA (map)", "TRECQA (map)"],
    "mteb-ext": [
        "JACSTS (spearman)",
        "QABot (map)",
        "WikiQA (map)",
        "TRECQA (map)",
        "STS17SemEval (pearson)",
        "STS17SemEvalTurkish (pearson)",
        "STSBenchmarkSemEval (pearson)",
        "WMT17Metrics (pearson)",
        "WMT17MetricsQE (pearson)",
    ],
}
ONE_NUMBER = {"SemEval2017-STS": "STS17SemEval", "WMT17-Metrics": "WMT17Metrics"}


def results(benchmark, scores):
    """Results of a model, a score a task; those of a task's subsets lie .1 around it."""
    return BenchmarkResults(
        model_results=[
            ModelResult(
                model_name=model,
                model_revision="1",
                task_results=[_result(task, by_task[task.metadata.name]) for task in benchmark],
            )
            for model, by_task in scores.items()
        ]
    )


def _result(task, score):
    spread = [0.1, -0.1, *[0.0] * 6]
    subsets = {
        subset: {"main_score": score + (difference if len(task.hf_subsets) > 1 else 0.0)}
        for subset, difference in zip(task.hf_subsets, spread, strict=False)
    }
    return TaskResult.from_task_results(task, {"test": subsets}, evaluation_time=1.0)


def two_models(benchmark):
    names = [task.metadata.name for task in benchmark]
    return {
        "mteb-ext/token-cosine": {name: 0.2 + i / 20 for i, name in enumerate(names)},
        "mteb-ext/word-count": {name: 0.3 + i / 20 for i, name in enumerate(names)},
    }


@pytest.mark.parametrize("name", HEADLINES)
def test_several_tasks_show_each_headline_and_no_mean(name):
    benchmark = mteb.get_benchmark(name)
    scores = two_models(benchmark)
    found = results(benchmark, scores)

    expected = [f"Headline::{label}" for label in HEADLINES[name]]
    by_model = benchmark.get_score(found)
    keys = [key for key in by_model["mteb-ext/word-count"] if "TRECQAUnmasked" not in key]
    assert keys == [*expected, "Rank"]
    assert by_model["mteb-ext/word-count"][expected[1]] == pytest.approx(0.35)
    assert by_model["mteb-ext/token-cosine"]["Rank"] == 2

    table = benchmark._create_summary_table(found._to_results_df(benchmark.tasks))
    assert table.primary_metric_col == "Rank (Borda)"
    assert not [column for column in table.df.columns if "Mean" in column]
    shown = {c for c in table.df.columns if c.startswith("__cg__") and "TRECQAUnmasked" not in c}
    assert shown == {f"__cg__{label}" for label in expected}
    by_name = {row["Model"]: row for row in table.df.iter_rows(named=True)}
    assert by_name["mteb-ext/word-count"][f"__cg__{expected[1]}"] == pytest.approx(0.35)


@pytest.mark.parametrize("name", ONE_NUMBER)
def test_one_task_shows_its_headline_as_the_mean(name):
    benchmark = mteb.get_benchmark(name)
    assert [task.metadata.name for task in benchmark] == [ONE_NUMBER[name]]
    found = results(benchmark, two_models(benchmark))
    assert benchmark.get_score(found)["mteb-ext/word-count"] == {
        "Mean(Task)": pytest.approx(0.3),
        "Rank": 1,
    }
    table = benchmark._create_summary_table(found._to_results_df(benchmark.tasks)).df
    means = [column for column in table.columns if "Mean" in column]
    assert means == ["Mean (Task)"]
    assert table[means[0]].to_list() == [pytest.approx(0.3), pytest.approx(0.2)]


def test_each_paper_is_cited_once():
    keys = re.findall(r"^@\w+{(.+),$", mteb.get_benchmark("mteb-ext").citation, re.MULTILINE)
    assert len(keys) == len(set(keys))
    assert {"mutinda2021semantic", "cer-etal-2017-semeval", "bojar-etal-2017-results"} < set(keys)


def test_every_benchmark_names_its_paper():
    named = {name: mteb.get_benchmark(name).reference for name in (*HEADLINES, *ONE_NUMBER)}
    assert named == {
        "JapaneseSTSIR": "https://arxiv.org/abs/2503.09094",
        "TANDA-AS2": "https://arxiv.org/abs/1911.04118",
        "SemEval2017-STS": "https://aclanthology.org/S17-2001/",
        "WMT17-Metrics": "https://arxiv.org/abs/1907.12679",
        "mteb-ext": None,
    }
