"""``compare --metric`` takes any result key: each against a computation by another library."""

from __future__ import annotations

import mteb
import numpy as np
import pytest
import pytrec_eval
from scipy import stats
from stock_tasks import write_predictions

from mteb_ext.analysis.comparing import compare_runs
from mteb_ext.errors import DataError


def loaded(name):
    (task,) = mteb.get_tasks(tasks=[name])
    task.load_data()
    data = task.dataset
    return data.get("default", data)["test"]


@pytest.fixture
def rankings(tmp_path, no_data):
    """Two models' scores of WikiQA.sample, with many ties."""
    qrels = loaded("WikiQA.sample")["relevant_docs"]
    runs = {}
    for model in ("test/a", "test/b"):
        rng = np.random.default_rng(len(qrels) + ord(model[-1]))
        run = {q: {name: float(rng.integers(3)) for name in names} for q, names in qrels.items()}
        held = {"default": {"test": run}}
        write_predictions(tmp_path / model[-1], "WikiQA.sample", held, model=model, data="sample")
        runs[model] = run
    return tmp_path, qrels, runs


def compared(folder, task, metric):
    found = compare_runs([folder], [task], metric=metric)
    assert set(found.scores["metric"]) == set(found.pairs["metric"]) == {metric}
    (n,) = set(found.scores["n"])
    return n, dict(zip(found.scores["run"], found.scores["value"], strict=True))


@pytest.mark.parametrize(
    ("metric", "measure", "shift", "mixed_only"),
    [
        ("map_trec_eval", "map", 0, False),
        ("mrr_both_trec_eval", "recip_rank", 0, True),
        ("precision_at_5_trec_eval", "P_5", 0, False),
        # The best and the worst order are those of scores that labels move a little.
        ("map_best", "map", 0.1, False),
        ("map_worst", "map", -0.1, False),
        ("map_both_best", "map", 0.1, True),
    ],
)
def test_a_ranking_by_any_key_is_trec_evals(rankings, metric, measure, shift, mixed_only):
    folder, qrels, runs = rankings
    mixed = [q for q, labels in qrels.items() if len(set(labels.values())) == 2]
    assert 0 < len(mixed) < len(qrels)
    kept = mixed if mixed_only else list(qrels)
    expected = {}
    for model, run in runs.items():
        moved = {
            q: {d: s + shift * qrels[q][d] for d, s in found.items()} for q, found in run.items()
        }
        values = pytrec_eval.RelevanceEvaluator(qrels, {measure.replace("_5", ".5")}).evaluate(
            moved
        )
        expected[model] = np.mean([values[q][measure] for q in kept])
    assert compared(folder, "WikiQA.sample", metric) == (
        len(kept),
        pytest.approx(expected, abs=1e-9),
    )


@pytest.mark.parametrize(
    ("task", "metric"),
    [
        ("JACSTS.sample", "spearman_3482"),
        ("JACSTS.sample", "cosine_pearson_3482"),
        ("STSBenchmarkSemEval.sample", "pearson_news"),
        ("STSBenchmarkSemEval.sample", "spearman_captions"),
    ],
)
def test_a_correlation_over_a_part_is_over_that_parts_pairs(tmp_path, no_data, task, metric):
    data = loaded(task)
    gold, part = np.array(data["score"]), metric.rpartition("_")[2]
    here = np.array(data["in_3482"]) if part == "3482" else np.array(data["genre"]) == part
    assert 2 < here.sum() < len(gold)
    expected = {}
    for model in ("test/a", "test/b"):
        scores = gold + np.random.default_rng(ord(model[-1])).normal(size=len(gold))
        held = {"default": {"test": {"cosine_scores": scores.tolist()}}}
        write_predictions(tmp_path / model[-1], task, held, model=model, data="sample")
        coefficient = stats.pearsonr if "pearson" in metric else stats.spearmanr
        expected[model] = coefficient(scores[here], gold[here])[0]
    assert compared(tmp_path, task, metric) == (here.sum(), pytest.approx(expected, abs=1e-12))


@pytest.mark.parametrize(
    "metric", ["map_bth", "pearson", "map_raw", "precision", "nauc_map_at_1_max"]
)
def test_a_key_that_the_task_does_not_have(rankings, metric, caplog):
    folder, *_ = rankings
    with pytest.raises(DataError, match=f"nothing to compare by {metric}"):
        compare_runs([folder], ["WikiQA.sample"], metric=metric)
    assert "WikiQA.sample is skipped: " in caplog.text
