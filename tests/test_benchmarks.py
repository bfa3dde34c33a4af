"""The benchmarks, and what mteb's tables make of their results: no mean over different metrics."""

from __future__ import annotations

import re

import mteb
import pytest
from mteb.results import BenchmarkResults, ModelResult, TaskResult

from mteb_ext.plugin.discovery import own_tasks

pytestmark = pytest.mark.slow  # mteb's own tables take seconds

PAPERS = {
    "JapaneseSTSIR": "https://arxiv.org/abs/2503.09094",
    "TANDA-AS2": "https://arxiv.org/abs/1911.04118",
    "SemEval2017-STS": "https://aclanthology.org/S17-2001/",
    "WMT17-Metrics": "https://arxiv.org/abs/1907.12679",
    "mteb-ext": None,
}
HEADLINES = {  # among others
    "JapaneseSTSIR": {"JACSTS (spearman)", "QABot (map)"},
    "TANDA-AS2": {"WikiQA (map)", "TRECQA (map)"},
    "SemEval2017-STS": {
        "STS17SemEval (pearson)",
        "STS17SemEvalTurkish (pearson)",
        "STSBenchmarkSemEval (pearson)",
    },
    "WMT17-Metrics": {"WMT17Metrics (pearson)", "WMT17MetricsQE (pearson)"},
    "mteb-ext": {"TRECQAUnmasked (map)"},
}


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


@pytest.mark.parametrize("name", PAPERS)
def test_each_headline_is_shown_and_no_mean(name):
    benchmark = mteb.get_benchmark(name)
    scores = two_models(benchmark)
    found = results(benchmark, scores)

    labels = [f"{t.metadata.name} ({t.metadata.main_score})" for t in benchmark]
    assert set(labels) >= HEADLINES[name]
    expected = [f"Headline::{label}" for label in labels]
    by_model = benchmark.get_score(found)
    assert list(by_model["mteb-ext/word-count"]) == [*expected, "Rank"]
    assert by_model["mteb-ext/word-count"][expected[1]] == pytest.approx(0.35)
    assert by_model["mteb-ext/token-cosine"]["Rank"] == 2

    table = benchmark._create_summary_table(found._to_results_df(benchmark.tasks))
    assert table.primary_metric_col == "Rank (Borda)"
    assert not [column for column in table.df.columns if "Mean" in column]
    shown = {c for c in table.df.columns if c.startswith("__cg__")}
    assert shown == {f"__cg__{label}" for label in expected}
    by_name = {row["Model"]: row for row in table.df.iter_rows(named=True)}
    assert by_name["mteb-ext/word-count"][f"__cg__{expected[1]}"] == pytest.approx(0.35)


def test_all_tasks_are_in_the_benchmark_of_all_and_in_that_of_their_paper_alone():
    names = {name: {t.metadata.name for t in mteb.get_benchmark(name)} for name in PAPERS}
    every = names.pop("mteb-ext")
    assert every == {task.metadata.name for task in own_tasks()}
    for task in own_tasks():
        holders = [name for name, tasks in names.items() if task.metadata.name in tasks]
        assert [PAPERS[name] for name in holders] == ([task.paper.url] if task.paper else [])
    assert mteb.get_task("TRECQAUnmasked").paper is None  # not the text of TANDA's figures


def test_each_paper_is_cited_once():
    keys = re.findall(r"^@\w+{(.+),$", mteb.get_benchmark("mteb-ext").citation, re.MULTILINE)
    assert len(keys) == len(set(keys))
    assert {"mutinda2021semantic", "cer-etal-2017-semeval", "bojar-etal-2017-results"} < set(keys)


def test_every_benchmark_names_its_paper():
    assert {name: mteb.get_benchmark(name).reference for name in PAPERS} == PAPERS
