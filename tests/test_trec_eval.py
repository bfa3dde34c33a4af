"""One name, one number: keys named after trec_eval hold what it prints for the predictions."""

from __future__ import annotations

import json

import mteb
import numpy as np
import pytest
import pytrec_eval
from conftest import ToyCrossEncoder
from mteb.cache import ResultCache

from mteb_ext import load_results
from mteb_ext.analysis.ties import tie_ranges
from mteb_ext.data.records import Question
from mteb_ext.pages.leaderboard.data import leaderboard
from mteb_ext.verification.findings import VerifyReport

MEASURES = {"map": "map", "mrr": "recip_rank"}


def evaluated(model, name, folder):
    """The scores of a result file whose predictions lie beside it."""
    cache = ResultCache(folder)
    (task,) = mteb.get_tasks(tasks=[name])
    mteb.evaluate(model, task, cache=cache, prediction_folder=folder / "predictions")
    (path,) = folder.rglob(f"{name}.json")
    return json.loads(path.read_text("utf-8"))["scores"]["test"][0]


def printed(task, folder, keep):
    """What trec_eval prints for a prediction file: means over the queries that a rule keeps."""
    (task,) = mteb.get_tasks(tasks=[task])
    task.load_data()
    qrels = task.dataset["default"]["test"]["relevant_docs"]
    (path,) = folder.rglob(f"{task.metadata.name}_predictions.json")
    run = json.loads(path.read_text("utf-8"))["default"]["test"]
    found = pytrec_eval.RelevanceEvaluator(qrels, set(MEASURES.values())).evaluate(run)
    kept = [q for q in qrels if keep(sum(qrels[q].values()), len(qrels[q]))]
    return {
        name: float(np.mean([found[q][measure] for q in kept]))
        for name, measure in MEASURES.items()
    }


def check_one_number_a_name(model, name, folder, keep, also, suffix):
    scores = evaluated(model, name, folder)
    headline, second = printed(name, folder, keep), printed(name, folder, also)
    for metric in MEASURES:
        assert scores[f"{metric}_trec_eval"] == pytest.approx(headline[metric], abs=2e-6)
        assert scores[f"{metric}_{suffix}_trec_eval"] == pytest.approx(second[metric], abs=2e-6)
    (row,) = tie_ranges([folder]).query("main").itertuples()
    assert row.trec_eval == pytest.approx(scores["map_trec_eval"], abs=2e-6)
    board = leaderboard(load_results(folder), [folder], VerifyReport([], {}))
    assert board.scores["trec_eval"].tolist() == [row.trec_eval]
    return scores


def answered(relevant, candidates):
    return relevant > 0


def both(relevant, candidates):
    return 0 < relevant < candidates


def test_made_up_questions_whose_names_do_not_sort_like_their_places(
    tmp_path, monkeypatch, no_data
):
    """Twelve candidates named 0 to 11: as names, 9 is the greatest, and 10 stands before 2."""
    questions = [
        Question(
            f"q{n}",
            f"question {n}",
            [f"D{n}-{i}" for i in range(12)],
            [f"candidate {n} {i}" for i in range(12)],
            [int(i in relevant) for i in range(12)],
        )
        for n, relevant in enumerate(({9}, {10, 11}, {2, 5}, {0, 9, 11}, range(12)))
    ]
    task = type(mteb.get_task("WikiQA.sample"))
    monkeypatch.setattr(task, "read", lambda source, split, subset: questions)
    constant = ToyCrossEncoder(lambda question, text: 0.5)
    name = task.metadata.name
    scores = check_one_number_a_name(constant, name, tmp_path, answered, both, "both")
    # By hand. By name the relevant ones are at rank 1; 9, 10; 4, 8; 1, 9, 12; and all. By place,
    # the later first, they are at rank 3; 1, 2; 7, 10; 1, 3, 12.
    by_name = [1, (1 / 9 + 2 / 10) / 2, (1 / 4 + 2 / 10) / 2, (1 + 2 / 9 + 3 / 12) / 3, 1]
    by_place = [1 / 3, 1, (1 / 7 + 2 / 10) / 2, (1 + 2 / 3 + 3 / 12) / 3, 1]
    assert scores["map_trec_eval"] == pytest.approx(np.mean(by_name), abs=1e-6)
    assert scores["map_later_first"] == pytest.approx(np.mean(by_place), abs=1e-6)


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "keep", "also", "suffix"),
    [
        ("WikiQA", answered, both, "both"),
        ("TRECQA", both, lambda relevant, candidates: True, "raw"),
    ],
)
def test_word_count(tmp_path, name, keep, also, suffix):
    model = mteb.get_model("mteb-ext/word-count")
    scores = check_one_number_a_name(model, name, tmp_path, keep, also, suffix)
    expected = {"WikiQA": (0.5108, 0.5060), "TRECQA": (0.5801, 0.5801)}[name]
    assert (round(scores["map_trec_eval"], 4), round(scores["map_later_first"], 4)) == expected
