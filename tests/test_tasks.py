"""The shipped tasks: their metadata, and a run on each bundled sample."""

from __future__ import annotations

import json

import mteb
import pytest
from conftest import ToyCrossEncoder, ToyEncoder, spread

from mteb_ext import DataError, load_dataset
from mteb_ext.bases import PaperRanking, PaperSTS, PaperTask
from mteb_ext.data.sources import registry
from mteb_ext.plugins import own_tasks

QUIET = {"show_progress_bar": False}
TASKS = {task.metadata.name: task for task in own_tasks()}
SAMPLES = [f"{name}.sample" for name in TASKS]


def test_the_tasks_that_ship():
    assert set(TASKS) == {
        "JACSTS",
        "QABot",
        "STS17SemEval",
        "STS17SemEvalTurkish",
        "STSBenchmarkSemEval",
        "TRECQA",
        "WMT17Metrics",
        "WMT17MetricsQE",
        "WikiQA",
    }


@pytest.mark.parametrize("name", TASKS)
def test_metadata_is_complete_and_valid(name):
    metadata = TASKS[name].metadata
    assert metadata.is_filled()
    metadata._validate_metadata()
    assert metadata.bibtex_citation.strip().startswith("@")
    assert metadata.intext_citation().startswith("\\cite{")
    if metadata.is_public:
        assert any(
            key.startswith(f"{metadata.dataset['path']}/{metadata.revision}/") for key in registry()
        )


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("kind", ["encoder", "cross-encoder"])
def test_samples_run(name, kind, no_data):
    model = (
        ToyEncoder(spread)
        if kind == "encoder"
        else ToyCrossEncoder(lambda a, b: len(a) - 0.1 * len(b))
    )
    task = mteb.get_task(name)
    result = mteb.evaluate(model, task, cache=None, encode_kwargs=dict(QUIET)).task_results[0]
    assert result.dataset_revision == "sample"
    assert set(result.hf_subsets) == set(task.metadata.hf_subsets)
    assert all(
        scores["main_score"] == scores[task.metadata.main_score] for scores in result.scores["test"]
    )
    json.dumps(result.to_dict(), default=str)
    assert len(model.seen) == len(set(model.seen))


@pytest.mark.parametrize("name", SAMPLES)
def test_samples_are_large_enough(name, no_data):
    rows = load_dataset(name, "test", raw=True)
    if "label" in rows.column_names:
        assert len(set(rows["question_id"])) >= 8
    else:
        assert len(rows) >= 20


@pytest.mark.models
@pytest.mark.parametrize("name", SAMPLES)
def test_a_multilingual_model_runs_the_samples(name, multilingual, no_data):
    task = mteb.get_task(name)
    result = mteb.evaluate(multilingual, task, cache=None, encode_kwargs=dict(QUIET)).task_results[
        0
    ]
    if name != "WMT17MetricsQE.sample":  # its scores depend on the translation's quality only
        assert result.get_score() > 0.1


@pytest.mark.parametrize(
    ("name", "split"),
    [
        (task, split)
        for task in SAMPLES
        for split in TASKS[task.removesuffix(".sample")].splits()
        if (task, split) != ("TRECQA.sample", "train")  # a file that only the user can bring
    ],
)
def test_every_split_of_a_sample_loads(name, split, no_data):
    assert len(load_dataset(name, split)) > 0


def test_load_dataset_filters_as_the_paper_does(no_data):
    raw = load_dataset("WikiQA.sample", "test", raw=True)
    kept = load_dataset("WikiQA.sample", "test")
    assert raw.column_names == ["question_id", "question", "candidate_id", "candidate", "label"]
    assert len(set(raw["question_id"])) > len(set(kept["question_id"]))
    with_answer = {q for q, label in zip(raw["question_id"], raw["label"], strict=True) if label}
    assert set(kept["question_id"]) == with_answer
    train = load_dataset("TRECQA.sample", "train-manual")
    assert len(train) == len(load_dataset("TRECQA.sample", "train-manual", raw=True))


def test_load_dataset_of_subsets(no_data):
    whole = load_dataset("STS17SemEval.sample")
    assert set(whole["subset"]) == set(TASKS["STS17SemEval"].metadata.hf_subsets)
    one = load_dataset("STS17SemEval.sample", subset="5-en-en")
    assert one.column_names == ["sentence1", "sentence2", "score"]
    assert len(one) * 6 == len(whole)
    assert "genre" in load_dataset("STSBenchmarkSemEval.sample", "dev").column_names


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("WikiQAA",), "no task 'WikiQAA'.*Did you mean: 'WikiQA'"),
        (("STS12",), "mteb's own task"),
        (("WikiQA", "validation"), r"WikiQA \(validation\): .* train, dev, test"),
        (("JACSTS", "train"), r"JACSTS \(train\): there is no such split; there are test"),
    ],
)
def test_load_dataset_of_what_is_not_there(arguments, message):
    with pytest.raises(DataError, match=message):
        load_dataset(*arguments)


def test_load_dataset_of_a_subset_that_is_not_there():
    with pytest.raises(DataError, match="5-en-en"):
        load_dataset("STS17SemEval", subset="5")
    with pytest.raises(DataError, match="no subsets"):
        load_dataset("WikiQA", subset="5")


def test_without_data_and_network_the_error_says_what_to_do(no_data):
    with pytest.raises(DataError, match=r"WikiQA \(test\): .*fetching is off") as caught:
        mteb.get_task("WikiQA").load_data()
    assert "MTEB_EXT_DATA" in str(caught.value)


def test_the_dev_split_runs_on_request(no_data):
    task = mteb.get_task("WikiQA.sample", eval_splits=["dev"])
    result = mteb.evaluate(ToyEncoder(spread), task, cache=None, encode_kwargs=dict(QUIET))
    assert list(result.task_results[0].scores) == ["dev"]


@pytest.mark.parametrize(
    ("benchmark", "tasks"),
    [
        ("JapaneseSTSIR", ["JACSTS", "QABot"]),
        ("TANDA-AS2", ["WikiQA", "TRECQA"]),
        ("SemEval2017-STS", ["STS17SemEval"]),
        ("WMT17-Metrics", ["WMT17Metrics"]),
    ],
)
def test_a_benchmark_holds_its_papers_headline(benchmark, tasks):
    found = mteb.get_benchmark(benchmark).tasks
    assert [task.metadata.name for task in found] == tasks
    assert all(isinstance(task, PaperTask) for task in found)


def test_the_benchmark_of_all_tasks():
    names = [task.metadata.name for task in mteb.get_benchmark("mteb-ext").tasks]
    assert sorted(names) == sorted(TASKS)


def test_a_benchmark_gives_mtebs_own_result_table(tmp_path, no_data):
    names = ["STS17SemEval.sample", "WikiQA.sample"]
    cache = mteb.ResultCache(tmp_path)
    benchmark = mteb.Benchmark(name="mine", tasks=mteb.get_tasks(tasks=names))
    mteb.evaluate(mteb.get_model("mteb-ext/token-cosine"), benchmark, cache=cache)
    frame = cache.load_results(tasks=benchmark, include_remote=False).to_dataframe()
    assert set(frame["task_name"]) == set(names)


def test_every_task_is_sts_or_ranking():
    assert all(issubclass(task, (PaperSTS, PaperRanking)) for task in TASKS.values())
