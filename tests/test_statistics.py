"""Descriptive statistics: those that ship with the tasks, and those that are computed."""

from __future__ import annotations

import json
import pickle
import sys
from pathlib import Path

import mteb
import pytest
from mteb.abstasks.task_metadata import TaskMetadata

from mteb_ext.bases import PaperRanking, PaperSTS
from mteb_ext.bases.metadata import PaperMetadata
from mteb_ext.plugin.discovery import own_tasks

PUBLIC = [task for task in own_tasks() if task.metadata.is_public]
NAMES = [task.metadata.name for task in PUBLIC]


def leaves(value):
    if isinstance(value, dict):
        for part in value.values():
            yield from leaves(part)
    else:
        yield value


def test_every_public_task_has_them_and_no_other():
    [folder] = {task.metadata.descriptive_stat_path.parent for task in own_tasks()}
    assert sorted(path.name for path in folder.iterdir()) == sorted(f"{n}.json" for n in NAMES)
    assert mteb.get_task("QABot").metadata.descriptive_stats is None


@pytest.mark.parametrize("task", PUBLIC, ids=NAMES)
def test_they_hold_numbers_only(task):
    assert {type(leaf) for leaf in leaves(task.metadata.descriptive_stats)} <= {
        int,
        float,
        type(None),
    }


@pytest.mark.parametrize("task", [task for task in PUBLIC if issubclass(task, PaperSTS)])
def test_pairs_are_those_of_the_protocol(task):
    facts = {name: one.pairs for name, one in task.protocol.facts["test"].items()}
    found = task.metadata.descriptive_stats["test"]
    by_subset = found.get("hf_subset_descriptive_stats", {"default": found})
    assert {name: one["num_samples"] for name, one in by_subset.items()} == facts
    assert task.metadata.n_samples == {"test": sum(facts.values())}


@pytest.mark.parametrize(
    ("name", "questions", "rows", "relevant"),
    [("WikiQA", 243, 2351, 293), ("TRECQA", 95, 1517, 284), ("TRECQAUnmasked", 95, 1517, 284)],
)
def test_questions_are_those_of_both_averages(name, questions, rows, relevant):
    found = mteb.get_task(name).metadata.descriptive_stats["test"]
    assert found["num_queries"] == questions
    assert found["top_ranked_statistics"]["num_top_ranked"] == rows
    assert found["relevant_docs_statistics"]["num_relevant_docs"] == relevant


@pytest.mark.real_data
@pytest.mark.parametrize("name", NAMES)
def test_they_are_those_of_the_data(name):
    task = mteb.get_task(name)
    task.metadata = PaperMetadata.at(Path("nowhere"), task.metadata)
    assert task.calculate_descriptive_statistics() == type(task).metadata.descriptive_stats


def made_up(home, monkeypatch):
    """A task of two made-up pairs, in a module of a folder."""
    code = """
from mteb_ext.bases import PaperSTS
from mteb_ext.data.records import Pairs
from mteb_ext.protocol import CorrelationProtocol, PairFacts
from mteb_ext.tasks.jacsts import JACSTS
from mteb.abstasks.task_metadata import TaskMetadata

class Two(PaperSTS):
    metadata = TaskMetadata(**(dict(JACSTS.metadata) | {"name": "Two"}))
    protocol = CorrelationProtocol("spearman", "made up", {"test": {"default": PairFacts(2)}})

    @classmethod
    def read(cls, source, split, subset):
        return Pairs(["ab", "ab"], ["abcd", "c"], [1.0, 2.0])
"""
    (home / "two_pairs.py").write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(home)
    monkeypatch.delitem(sys.modules, "two_pairs", raising=False)
    import two_pairs

    return two_pairs.Two


def test_they_are_computed_and_not_kept(tmp_path, monkeypatch):
    task = made_up(tmp_path, monkeypatch)()
    assert task.metadata.descriptive_stats is None
    found = task.calculate_descriptive_statistics()["test"]
    assert (found["num_samples"], found["number_of_characters"]) == (2, 9)
    assert found["text1_statistics"] == {
        "total_text_length": 4,
        "min_text_length": 2,
        "average_text_length": 2.0,
        "max_text_length": 2,
        "unique_texts": 1,
    }
    assert found["label_statistics"] == {"min_score": 1.0, "avg_score": 1.5, "max_score": 2.0}
    assert task.metadata.descriptive_stats is None
    assert task.data_loaded
    assert not list(tmp_path.glob("**/*.json"))


def test_a_tasks_author_keeps_them_beside_the_module(tmp_path, monkeypatch):
    task = made_up(tmp_path, monkeypatch)
    found = task().calculate_descriptive_statistics(overwrite_results=True)
    file = tmp_path / "descriptive_stats" / "Two.json"
    assert json.loads(file.read_text("utf-8")) == found
    assert task.metadata.descriptive_stats == found
    file.write_text('{"test": {"num_samples": 3}}', encoding="utf-8")
    assert task().calculate_descriptive_statistics() == {"test": {"num_samples": 3}}
    assert task.metadata.n_samples == {"test": 3}


def test_a_sample_has_none_and_computes_them():
    task = mteb.get_task("TRECQA.sample")
    assert task.metadata.descriptive_stats is None
    found = task.calculate_descriptive_statistics()["test"]
    kept = [q for q in type(task).load("test")[0] if len(q) > 0]
    assert isinstance(task, PaperRanking)
    assert found["num_queries"] == len(kept)
    assert not task.metadata.descriptive_stat_path.exists()


def test_the_place_goes_where_the_metadata_goes():
    metadata = mteb.get_task("JACSTS").metadata
    for other in (pickle.loads(pickle.dumps(metadata)), metadata.model_copy()):
        assert other.descriptive_stats == metadata.descriptive_stats
    assert TaskMetadata(**dict(metadata)).model_dump_json() == metadata.model_dump_json()
