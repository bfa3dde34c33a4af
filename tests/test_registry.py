"""What stands in mteb's registries, and what its zero-shot verdicts make of ours."""

from __future__ import annotations

import sys

import mteb
import pytest
from mteb.models import ModelMeta

from mteb_ext import registry

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
    tasks = sys.modules["mteb.get_tasks"]
    listed, names = tasks.TASK_LIST, list(tasks._TASKS_REGISTRY)
    registry.fill(["mteb.get_tasks", "mteb.models.model_implementations", "mteb"])
    assert tasks.TASK_LIST is listed
    assert list(tasks._TASKS_REGISTRY) == names


def test_what_is_missing_is_added(monkeypatch):
    tasks = sys.modules["mteb.get_tasks"]
    monkeypatch.setattr(tasks, "TASK_LIST", tasks.TASK_LIST)
    monkeypatch.setattr(tasks, "_TASKS_REGISTRY", dict(tasks._TASKS_REGISTRY))
    ours = [t for t in tasks.TASK_LIST if t.__module__.startswith("mteb_ext.")]
    tasks.TASK_LIST = tuple(t for t in tasks.TASK_LIST if t not in ours)
    del tasks._TASKS_REGISTRY["WikiQA"], tasks._TASKS_REGISTRY["WikiQA.sample"]
    registry.fill(["mteb.get_tasks"])
    assert list(tasks.TASK_LIST[-len(ours) :]) == ours
    assert mteb.get_task("WikiQA.sample").metadata.revision == "sample"
