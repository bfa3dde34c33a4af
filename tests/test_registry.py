"""What stands in mteb's registries, and what its zero-shot verdicts make of ours."""

from __future__ import annotations

import importlib
import json
import sys

import mteb
import pytest
from mteb.models import ModelMeta
from mteb.results import TaskResult

from mteb_ext.errors import CompatibilityError
from mteb_ext.plugin import registries

SHARED = [
    ("STSBenchmark", "STSBenchmarkSemEval"),
    ("STSBenchmark.v2", "STSBenchmarkSemEval"),
    ("STSBenchmarkMultilingualSTS", "STSBenchmarkSemEval"),
    ("STS12", "STSBenchmarkSemEval"),  # the STS Benchmark is a choice from STS 2012 to 2017
    ("STS16", "STSBenchmarkSemEval"),
    ("STS17", "STSBenchmarkSemEval"),
    ("STS17", "STS17SemEval"),
    ("STS17", "STS17SemEvalTurkish"),
    ("STSBenchmark", "STS17SemEval"),  # track 5 is inside its dev and test parts
    ("STSBenchmarkMultilingualSTS", "STS17SemEval"),
    ("STS17SemEval", "STSBenchmarkSemEval"),
    ("WMT17Metrics", "WMT17MetricsQE"),
    ("TRECQA", "TRECQAUnmasked"),
]
APART = [
    ("STSBenchmark", "JACSTS"),
    ("STSBenchmark", "STS17SemEvalTurkish"),
    ("STS17SemEval", "STS17SemEvalTurkish"),
    ("STS12", "STS17SemEval"),
    ("WikiQA", "TRECQA"),
    ("WMT17Metrics", "STS17SemEval"),
]


def is_zero_shot(trained_on, task):
    meta = ModelMeta.create_empty(
        overwrites={"name": "test/trained", "revision": "1", "training_datasets": {trained_on}}
    )
    return meta.is_zero_shot_on([mteb.get_task(task)])


@pytest.mark.parametrize(("one", "other"), SHARED)
def test_tasks_that_share_data_are_not_zero_shot(one, other):
    assert is_zero_shot(one, other) is False
    assert is_zero_shot(other, one) is False


@pytest.mark.parametrize(("one", "other"), APART)
def test_tasks_that_share_none_are(one, other):
    assert is_zero_shot(one, other) is True
    assert is_zero_shot(other, one) is True


def test_the_verdicts_on_tasks_of_mteb_are_its_own():
    assert is_zero_shot("STSBenchmark", "STS17") is True  # mteb does not know of track 5
    assert is_zero_shot("STSBenchmark", "STSBenchmark.v2") is False


def test_filling_again_changes_nothing():
    for name in (*registries._STEPS, "mteb"):
        importlib.import_module(name)
    tasks, menu = sys.modules["mteb.get_tasks"], sys.modules["mteb.benchmarks._leaderboard_menu"]
    touched = {
        "listed": lambda: tasks.TASK_LIST,
        "run": lambda: sys.modules["mteb.cli.build_cli"].run,
        "cards": lambda: sys.modules["mteb.cli.build_cli"].generate_model_card,
        "guard": lambda: mteb.ResultCache._get_unsubmitted_results,
        "collect": lambda: sys.modules["mteb.models.model_meta"]._collect_similar_tasks,
        "benchmark": lambda: mteb.get_benchmark("TANDA-AS2"),
    }
    before = {name: get() for name, get in touched.items()}
    names, entries = list(tasks._TASKS_REGISTRY), list(menu.HOME_BENCHMARK_ENTRIES)
    registries.fill([*registries._STEPS, "mteb"])
    assert all(get() is before[name] for name, get in touched.items())
    assert list(tasks._TASKS_REGISTRY) == names
    assert entries == menu.HOME_BENCHMARK_ENTRIES
    assert menu.GP_BENCHMARK_ENTRIES[-1].name == "Papers' own protocols"


def test_mteb_without_a_module_that_is_filled(monkeypatch):
    monkeypatch.delitem(sys.modules, "mteb.get_tasks")
    with pytest.raises(CompatibilityError, match=r"this mteb has no module mteb\.get_tasks"):
        registries.fill(["mteb"])


@pytest.fixture
def results(tmp_path):
    """A results folder of models, made of scores by task."""

    def make(**by_model):
        for model, tasks in by_model.items():
            meta = mteb.get_model_meta(model.replace("__", "/"))
            folder = tmp_path / "results" / model / meta.revision
            folder.mkdir(parents=True)
            (folder / "model_meta.json").write_text(json.dumps(meta.to_dict()))
            for task in tasks:
                scores = {"test": {"default": {"main_score": 0.5}}}
                result = TaskResult.from_task_results(mteb.get_task(task), scores, 1.0)
                result.to_disk(folder / f"{task}.json")
        return mteb.ResultCache(tmp_path)

    return make


MINILM = "sentence-transformers__all-MiniLM-L6-v2"


def test_our_tasks_and_models_are_not_submitted(results, monkeypatch, caplog):
    cache = results(**{MINILM: ["WikiQA", "WikiQA.sample"], "mteb-ext__word-count": ["STS12"]})
    monkeypatch.setattr(mteb.ResultCache, "download_from_remote", lambda self: None)
    assert cache.submit_results()["status"] == "no_changes"
    [line] = [r.getMessage() for r in caplog.records if r.name == "mteb_ext.plugin.registries"]
    for what in (
        "WikiQA of sentence-transformers/all-MiniLM-L6-v2",
        "WikiQA.sample of sentence-transformers/all-MiniLM-L6-v2",
        "STS12 of mteb-ext/word-count",
        "can go onto a leaderboard of your own",
    ):
        assert what in line
    assert line.count(". ") == 0  # one sentence


def test_tasks_of_mteb_in_the_same_folder_go_through(results, caplog):
    cache = results(**{MINILM: ["WikiQA", "STS12", "STS13"]})
    [(meta, paths)] = cache._get_unsubmitted_results(cache._normalize_models(None)).items()
    assert meta.name == "sentence-transformers/all-MiniLM-L6-v2"
    assert sorted(path.name for path in paths) == ["STS12.json", "STS13.json"]
    assert len([r for r in caplog.records if r.name == "mteb_ext.plugin.registries"]) == 1


def test_a_name_of_ours_that_mteb_has_is_mtebs(results, monkeypatch, caplog):
    """mteb's own task and model win their names, and their results go through."""
    cache = results(**{MINILM: ["WikiQA"], "mteb-ext__word-count": ["STS12"]})
    tasks = vars(sys.modules["mteb.get_tasks"])["_TASKS_REGISTRY"]
    monkeypatch.setitem(tasks, "WikiQA", tasks["STS12"])
    models = sys.modules["mteb.models.model_implementations"].MODEL_REGISTRY
    other = models["mteb-ext/word-count"].model_copy(deep=True)
    monkeypatch.setitem(models, "mteb-ext/word-count", other)
    paths = cache._get_unsubmitted_results(cache._normalize_models(None)).values()
    assert {path.name for of_model in paths for path in of_model} == {"WikiQA.json", "STS12.json"}
    assert not [r for r in caplog.records if r.name == "mteb_ext.plugin.registries"]


def test_a_folder_without_ours_is_submitted_without_a_word(results, caplog):
    cache = results(**{MINILM: ["STS12"]})
    [paths] = cache._get_unsubmitted_results(cache._normalize_models(None)).values()
    assert [path.name for path in paths] == ["STS12.json"]
    assert not [r for r in caplog.records if r.name == "mteb_ext.plugin.registries"]


def test_what_is_missing_is_added(monkeypatch):
    tasks = sys.modules["mteb.get_tasks"]
    monkeypatch.setattr(tasks, "TASK_LIST", tasks.TASK_LIST)
    monkeypatch.setattr(tasks, "_TASKS_REGISTRY", dict(tasks._TASKS_REGISTRY))
    ours = [t for t in tasks.TASK_LIST if t.__module__.startswith("mteb_ext.")]
    tasks.TASK_LIST = tuple(t for t in tasks.TASK_LIST if t not in ours)
    del tasks._TASKS_REGISTRY["WikiQA"], tasks._TASKS_REGISTRY["WikiQA.sample"]
    registries.fill(["mteb.get_tasks"])
    assert list(tasks.TASK_LIST[-len(ours) :]) == ours
    assert mteb.get_task("WikiQA.sample").metadata.revision == "sample"
