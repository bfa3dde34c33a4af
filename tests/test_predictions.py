"""Predictions beside their gold: what fits, what is refused, and what ties leave open."""

from __future__ import annotations

import itertools
from dataclasses import replace

import mteb
import numpy as np
import pytest
import pytrec_eval
from conftest import spread
from stock_tasks import QRELS, StockSTS, write_predictions

from mteb_ext import load_dataset
from mteb_ext.analysis.cells import find_runs, load_cells
from mteb_ext.analysis.folder import ResultsFolder
from mteb_ext.analysis.gold import PairGold, QueryGold
from mteb_ext.analysis.ties import tie_ranges
from mteb_ext.errors import DataError, ProtocolError
from mteb_ext.measures import Measure
from mteb_ext.protocol import QuestionFilter

RUN = {
    "q1": {"d1": 0.1, "d2": 0.9, "d3": 0.5, "d4": 0.3},
    "q2": {"d1": 0.2, "d3": 0.1, "d5": 0.7},  # d9 was not found
    "q3": {"d2": 0.5, "d1": 0.25},
}
MEASURES = {
    "map_at_1000": "map_cut_1000",
    "map_at_2": "map_cut_2",
    "ndcg_at_1": "ndcg_cut_1",
    "ndcg_at_10": "ndcg_cut_10",
    "recall_at_2": "recall_2",
    "precision_at_3": "P_3",
    "hit_rate_at_1": "success_1",
    "mrr_at_1000": "recip_rank",
}


def trec_eval(qrels, run, measure):
    family, _, k = measure.rpartition("_")
    asked = f"{family}.{k}" if k.isdigit() else measure
    values = pytrec_eval.RelevanceEvaluator(qrels, {asked}).evaluate(run)
    return [values[query][measure] for query in qrels]


BINARY = {q: {d: min(grade, 1) for d, grade in grades.items()} for q, grades in QRELS.items()}


@pytest.mark.parametrize("qrels", [QRELS, BINARY], ids=["graded", "binary"])
@pytest.mark.parametrize("metric", MEASURES)
def test_metrics_of_a_search_are_trec_evals(metric, qrels):
    lists = QueryGold(qrels, None, 1000).lists(RUN)
    expected = trec_eval(qrels, RUN, MEASURES[metric])
    np.testing.assert_allclose(
        lists.values(Measure.parse(metric, ["both"])), expected, rtol=0, atol=1e-12
    )
    assert len(set(expected)) > 1


@pytest.mark.parametrize("metric", MEASURES)
def test_trec_evals_order_of_ties(metric):
    run = {query: dict.fromkeys(found, 0.5) for query, found in RUN.items()}
    lists = QueryGold(QRELS, None, 1000).lists(run)
    expected = trec_eval(QRELS, run, MEASURES[metric])
    np.testing.assert_allclose(
        lists.values(Measure.parse(f"{metric}_trec_eval")), expected, rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("metric", [*MEASURES, "map", "mrr"])
def test_ties_are_all_orders(metric):
    """Graded and binary metrics of up to seven tied documents, by enumeration."""
    qrels = {"q": {"d1": 2, "d2": 1, "d4": 0, "d6": 1, "d9": 1}}
    run = {f"d{i}": score for i, score in enumerate([3, 3, 3, 2, 2, 2, 1], 1)}
    levels = [[d for d in run if run[d] == score] for score in (3, 2, 1)]
    measure = {**MEASURES, "map": "map", "mrr": "recip_rank"}[metric]
    values = []
    for order in itertools.product(*map(itertools.permutations, levels)):
        names = list(itertools.chain(*order))
        ranked = {"q": {name: float(-rank) for rank, name in enumerate(names)}}
        values += trec_eval(qrels, ranked, measure)
    candidates = {"q": list(run)}
    lists = QueryGold(qrels, candidates, 1000).lists({"q": run})
    found = [
        lists.values(replace(Measure.parse(metric), ties=ties))[0]
        for ties in ("expected", "worst", "best")
    ]
    np.testing.assert_allclose(
        found, [np.mean(values), min(values), max(values)], rtol=0, atol=1e-12
    )


def test_the_rules_of_mtebs_tasks():
    run = {"q1": {"q1": 0.95, "d1": 0.9, "d2": 0.1}}
    gold = {"q1": {"d2": 1}}
    assert QueryGold(gold, None, 9).lists(run).values(Measure("mrr", 9)) == [1 / 3]
    ignoring = QueryGold(gold, None, 9, ignore_identical_ids=True)
    assert ignoring.lists(run).values(Measure("mrr", 9)) == [1 / 2]
    skipping = QueryGold(gold, None, 9, ignore_identical_ids=True, skip_first_result=True)
    assert skipping.lists(run).values(Measure("mrr", 9)) == [1 / 2]
    assert QueryGold(gold, None, 9, skip_first_result=True).lists(run).values(
        Measure("mrr", 9)
    ) == [1 / 2]


def test_question_sets():
    qrels = {"q1": {"d1": 1, "d2": 0}, "q2": {"d1": 1}, "q3": {"d1": 0}}
    sets = {"": QuestionFilter.ANSWERED, "both": QuestionFilter.BOTH}
    gold = QueryGold(qrels, qrels, 0, sets)
    lists = gold.lists({"q1": {"d1": 0, "d2": 1}, "q2": {"d1": 1}, "q3": {"d1": 1}})
    assert lists.values(Measure("map")).tolist() == [0.5, 1]
    assert lists.values(Measure("precision", 1, "both")).tolist() == [0]
    assert lists.tied(Measure("map")).tolist() == [False, False]


@pytest.mark.parametrize("metric", ["map", "map_at_11", "precision", "ndcg_at_0", "map_at_5_both"])
def test_metrics_that_predictions_do_not_allow(metric):
    lists = QueryGold(QRELS, None, 10).lists(RUN)
    with pytest.raises(ProtocolError, match=metric):
        lists.values(Measure.parse(metric, ["both"]))


def without(query, document=None, **changed):
    run = {name: {**found} for name, found in RUN.items()}
    if document:
        del run[query][document]
    else:
        del run[query]
    return run


BAD_RUNS = {
    "no run": ([1, 2], "no scores by query"),
    "no query": (without("q2"), "query q2 is missing"),
    "no list": ({**RUN, "q2": [0.5]}, "query q2 is missing"),
    "nan": ({**RUN, "q2": {"d1": 0.5, "d3": float("nan")}}, "document d3 for query q2 is nan"),
    "text": ({**RUN, "q2": {"d1": "high"}}, "no numbers"),
}


@pytest.mark.parametrize(("run", "said"), BAD_RUNS.values(), ids=BAD_RUNS)
def test_a_run_that_does_not_fit_is_an_error(run, said):
    with pytest.raises(DataError, match=said):
        QueryGold(QRELS, None, 10).lists(run)


def test_a_candidate_list_that_is_not_whole_is_an_error():
    gold = QueryGold(QRELS, {query: list(found) for query, found in RUN.items()}, 10)
    gold.lists(RUN)
    with pytest.raises(DataError, match="q1 has no score of its candidate d3"):
        gold.lists(without("q1", "d3"))
    with pytest.raises(DataError, match="q1 has a score of d8"):
        gold.lists({**RUN, "q1": {**RUN["q1"], "d8": 0.5}})


def test_scores_of_pairs():
    gold = PairGold(np.array([0.0, 1.0, 2.0]))
    held = {"cosine_scores": [1, 2, 3], "similarity_scores": [3, 2, 1], "manhattan_distances": None}
    assert gold.similarities(held, Measure.parse("cosine_spearman")).tolist() == [1, 2, 3]
    assert gold.similarities(held, Measure("pearson")).tolist() == [3, 2, 1]
    assert gold.similarities({"cosine_scores": [1, 2, 3]}, Measure("pearson")).tolist() == [1, 2, 3]
    for metric in ("manhattan_pearson", "map"):
        with pytest.raises(ProtocolError, match=metric):
            gold.similarities(held, Measure.parse(metric))


BAD_SCORES = {
    "rows": ([1, 2], "2 scores for 3 pairs"),
    "nan": ([1, float("nan"), 2], "score of row 1 is nan"),
    "text": (["high", 1, 2], "no numbers"),
    "numbers as text": (["0.5", "1", "2"], "no numbers"),
    "truth": ([True, False, True], "no numbers"),
    "beyond float64": ([1, 10**400, 2], "no numbers"),
    "nested": ([[1, 2, 3]], "scores for 3 pairs"),
}


@pytest.mark.parametrize(("scores", "said"), BAD_SCORES.values(), ids=BAD_SCORES)
def test_scores_that_do_not_fit_are_an_error(scores, said):
    with pytest.raises(DataError, match=said):
        PairGold(np.array([0.0, 1.0, 2.0])).similarities(
            {"cosine_scores": scores}, Measure("pearson")
        )


def test_runs_are_found_by_task_and_name(stock, tmp_path, caplog):
    for model in ("a", "b"):
        write_predictions(tmp_path / model, "StockSTS", {}, model=f"test/{model}")
    write_predictions(tmp_path / "a", "StockRetrieval", {}, model="test/a")
    write_predictions(tmp_path / "b", "AmazonCounterfactualClassification", {}, model="test/b")
    write_predictions(tmp_path / "b", "SomebodysTask", {}, model="test/b")
    (tmp_path / "b" / "JACSTS_predictions.json").write_text("{")
    runs = find_runs([tmp_path / "a", tmp_path / "b"])
    assert {task: list(files) for task, files in runs.items()} == {"StockSTS": ["test/a", "test/b"]}
    said = "\n".join(record.getMessage() for record in caplog.records)
    assert "StockRetrieval is skipped: one model only, test/a" in said
    assert "AmazonCounterfactualClassification is skipped: its type is Classification" in said
    assert "no task 'SomebodysTask'" in said
    assert "JACSTS_predictions.json is left out" in said


def test_runs_of_one_model_have_names_of_their_own(stock, tmp_path):
    for folder, revision in (("x", "1"), ("y", "1"), ("z", "2")):
        write_predictions(tmp_path / folder, "StockSTS", {}, model="m", revision=revision)
    (names,) = map(list, find_runs([tmp_path]).values())
    assert names == [
        f"m, revision 1 in {tmp_path / 'x'}",
        f"m, revision 1 in {tmp_path / 'y'}",
        "m, revision 2",
    ]


def test_nothing_to_compare(stock, tmp_path):
    with pytest.raises(DataError, match="nowhere is not a folder"):
        find_runs([tmp_path / "nowhere"])
    with pytest.raises(DataError, match="no prediction files here"):
        find_runs([tmp_path])
    write_predictions(tmp_path / "a", "StockSTS", {}, model="test/a")
    with pytest.raises(
        DataError, match=r"predictions of 2 models or more\. Models by task: StockSTS: 1"
    ):
        find_runs([tmp_path])
    with pytest.raises(DataError, match="Did you mean 'STS12'"):
        find_runs([tmp_path], ["sts12"])
    with pytest.raises(DataError, match="no predictions of StockRetrieval here; of StockSTS"):
        find_runs([tmp_path], ["StockRetrieval"])


PAIRS = {"default": {"test": {"cosine_scores": [1, 2, 3, 4]}}}


def test_cells_of_mtebs_own_tasks(stock, tmp_path):
    for model, scores in {"a": [1, 2, 3, 4], "b": [4, 2, 3, 1]}.items():
        held = {"default": {"test": {"cosine_scores": scores}}}
        write_predictions(tmp_path / model, "StockSTS", held, model=model)
        write_predictions(
            tmp_path / model, "StockRetrieval", {"default": {"test": RUN}}, model=model
        )
    (pairs,) = cells_of(tmp_path, "StockSTS")
    assert pairs.scores(Measure.parse("cosine_spearman")).tolist() == [[1, 2, 3, 4], [4, 2, 3, 1]]
    assert pairs.gold.score.tolist() == [0, 1, 2, 5]
    (queries,) = cells_of(tmp_path, "StockRetrieval")
    expected = trec_eval(QRELS, RUN, "ndcg_cut_10")
    found = queries.scores(Measure("ndcg", 10))
    np.testing.assert_allclose(found, [expected] * 2, rtol=0, atol=1e-12)
    with pytest.raises(DataError, match=r"StockSTS .test, default.*StockSTS is not a ranking task"):
        pairs.lists("a")


def cells_of(place, task):
    folder = ResultsFolder(place)
    return load_cells(folder, task, find_runs(folder, fewest=1)[task]).cells


def test_predictions_of_other_editions_are_left_out(tmp_path, no_data):
    scores = {"default": {"test": {"cosine_scores": [0.5] * 30}}}
    for model, data in (("a", "sample"), ("b", "another")):
        write_predictions(tmp_path / model, "JACSTS.sample", scores, model=model, data=data)
    folder = ResultsFolder(tmp_path)
    found = load_cells(folder, "JACSTS.sample", find_runs(folder)["JACSTS.sample"])
    assert [list(cell.files) for cell in found.cells] == [["a"]]
    [reason] = found.left_out
    assert f"{tmp_path}/b" in reason
    assert "dataset revision another, and the data here is sample" in reason
    for data, said in (("another", "another"), (None, "None")):
        for model in ("a", "b"):
            write_predictions(tmp_path / model, "JACSTS.sample", scores, model=model, data=data)
        with pytest.raises(DataError, match=f"dataset revision {said}.*the data here is sample"):
            cells_of(tmp_path, "JACSTS.sample")


def test_predictions_of_other_rows_are_left_out(stock, tmp_path, caplog):
    fewer = {"default": {"test": {"cosine_scores": [1, 2, 3]}}}
    write_predictions(tmp_path / "a", "StockSTS", PAIRS, model="a")
    path = write_predictions(tmp_path / "b", "StockSTS", fewer, model="b")
    (cell,) = cells_of(tmp_path, "StockSTS")
    assert list(cell.files) == ["a"]
    assert f"{path}: 3 scores for 4 pairs" in caplog.text


def test_splits_and_subsets_that_not_all_have(stock, tmp_path, caplog):
    scores = PAIRS["default"]["test"]
    write_predictions(tmp_path / "a", "StockSTS", {"default": {"dev": scores, "test": scores}})
    write_predictions(tmp_path / "b", "StockSTS", PAIRS, model="test/b")
    (cell,) = cells_of(tmp_path, "StockSTS")
    assert cell.split == "test"
    assert "StockSTS (dev) is skipped: no predictions of it by test/b" in caplog.text
    write_predictions(tmp_path / "b", "StockSTS", {"default": {"train": scores}}, model="test/b")
    with pytest.raises(DataError, match="no split has predictions of every model"):
        cells_of(tmp_path, "StockSTS")
    write_predictions(tmp_path / "b", "StockSTS", {**PAIRS, "x": {"test": scores}}, model="test/b")
    (cell,) = cells_of(tmp_path, "StockSTS")
    assert len(cell.files) == 1
    assert f"{tmp_path}/b/StockSTS_predictions.json holds other subsets of test" in caplog.text


def test_data_that_cannot_be_loaded(stock, tmp_path, monkeypatch):
    def fail(self, **kwargs):
        raise OSError("no network")

    monkeypatch.setattr(StockSTS, "load_data", fail)
    for model in ("a", "b"):
        write_predictions(tmp_path / model, "StockSTS", PAIRS, model=model)
    with pytest.raises(DataError, match=r"its data cannot be loaded .OSError: no network"):
        cells_of(tmp_path, "StockSTS")


def ties_of(folder, run="test/a", metric="map"):
    frame = tie_ranges([folder])
    (row,) = frame[(frame["run"] == run) & (frame["metric"] == metric)].itertuples()
    return row


def ranking_sample(score):
    """Predictions on WikiQA.sample: a score by question, candidate and place in the list."""
    (task,) = mteb.get_tasks(tasks=["WikiQA.sample"])
    task.load_data()
    candidates = task.dataset["default"]["test"]["top_ranked"]
    scores = {q: {c: score(q, c, i) for i, c in enumerate(ids)} for q, ids in candidates.items()}
    return {"default": {"test": scores}}


def test_ties_of_a_constant_scorer_go_from_the_worst_to_1(tmp_path, no_data):
    constant = ranking_sample(lambda question, candidate, place: 0.5)
    write_predictions(tmp_path, "WikiQA.sample", constant, data="sample")
    row = ties_of(tmp_path)
    assert row.best == 1.0
    assert row.worst < row.expected < 1.0
    assert row.width == row.best - row.worst
    assert (row.n, row.main) == (10, True)
    assert row.tied == 8  # two questions have correct answers only
    assert row.beyond_interval == (row.width > row.high - row.low)
    assert not row.beyond_lead  # there is no other model


def test_ties_beyond_the_lead_over_the_next_model(tmp_path, no_data):
    rough = ranking_sample(lambda question, candidate, place: float(place < 2))
    fine = ranking_sample(lambda question, candidate, place: float(place < 2) or -float(place))
    write_predictions(tmp_path / "a", "WikiQA.sample", rough, data="sample")
    write_predictions(tmp_path / "b", "WikiQA.sample", fine, model="test/b", data="sample")
    first, second = sorted(
        (ties_of(tmp_path, run) for run in ("test/a", "test/b")), key=lambda row: -row.expected
    )
    assert first.lead == first.expected - second.expected
    assert first.beyond_lead == (first.width > first.lead)
    assert first.beyond_lead
    assert np.isnan(second.lead)


def test_without_ties_there_is_no_width(tmp_path, no_data):
    places = ranking_sample(lambda question, candidate, place: -float(place))
    write_predictions(tmp_path, "WikiQA.sample", places, data="sample")
    for row in tie_ranges([tmp_path]).itertuples():
        assert (row.width, row.tied, row.beyond_interval, row.beyond_lead) == (0, 0, False, False)
        assert row.expected == row.worst == row.best == pytest.approx(row.trec_eval, abs=1e-12)


def test_ties_of_a_search_and_of_no_ranking(stock, tmp_path):
    write_predictions(tmp_path, "StockRetrieval", {"default": {"test": RUN}})
    frame = tie_ranges([tmp_path])
    assert "map_at_1000" in set(frame["metric"])
    assert "map" not in set(frame["metric"])  # deeper than the predictions
    write_predictions(tmp_path / "x", "StockSTS", PAIRS)
    with pytest.raises(DataError, match="no task of the types Retrieval, Reranking"):
        tie_ranges([tmp_path / "x"])


def test_quantised_vectors_have_a_width_that_float_vectors_have_not(tmp_path, no_data):
    rows = load_dataset("WikiQA.sample").to_pandas()
    texts = dict(zip(rows["candidate_id"], rows["candidate"], strict=True))
    questions = dict(zip(rows["question_id"], rows["question"], strict=True))

    def cosine(question, candidate, quantise):
        a, b = (quantise(spread(text)) for text in (questions[question], texts[candidate]))
        return float(a @ b / np.sqrt((a @ a) * (b @ b)))

    widths = {}
    for name, quantise in (("float", np.copy), ("int8", np.sign)):
        scores = {
            q: {c: cosine(q, c, quantise) for c in part["candidate_id"]}
            for q, part in rows.groupby("question_id")
        }
        held = {"default": {"test": scores}}
        write_predictions(tmp_path / name, "WikiQA.sample", held, model=name, data="sample")
        widths[name] = ties_of(tmp_path / name, run=name).width
    assert widths["float"] == 0 < widths["int8"]


def test_one_folder_and_one_task_by_themselves(stock, tmp_path):
    for model in ("a", "b"):
        write_predictions(tmp_path / model, "StockSTS", PAIRS, model=f"test/{model}")
    listed = find_runs([tmp_path], ["StockSTS"])
    assert find_runs(str(tmp_path), "StockSTS") == find_runs(tmp_path, "StockSTS") == listed


BAD_FILES = {
    "empty": ("", "the file is damaged: the text is empty."),
    "cut": ('{"default":\n {"te', "the file is damaged: not JSON from line 2, column 3 on."),
    "a list": ("[1]", "the file does not hold predictions by subset and split."),
    "no subsets": ('{"default": [1]}', "the file does not hold predictions by subset and split."),
    "no model": ('{"default": {}}', "the file does not name its model."),
    "model null": ('{"mteb_model_meta": {"model_name": null}}', "the file names the model"),
    "model empty": ('{"mteb_model_meta": {"model_name": " "}}', "the file names the model"),
    "twice": ('{"a": {}, "a": {}}', "the file is damaged: a name occurs twice in an object."),
    "too deep": ("[" * 100_000, "the file is damaged: nested too deeply."),
    "no UTF-8": ("\udcff", "the file is not UTF-8 text from byte 0 on."),
}


@pytest.mark.parametrize(("content", "said"), BAD_FILES.values(), ids=BAD_FILES)
def test_a_damaged_prediction_file_is_named_in_plain_words(tmp_path, caplog, content, said):
    path = tmp_path / "WikiQA_predictions.json"
    path.write_bytes(content.encode("utf-8", "surrogateescape"))
    assert ResultsFolder(tmp_path).all_predictions() == []
    (record,) = caplog.records
    assert f"{path} is left out" in record.getMessage()
    assert said in record.getMessage()
    assert "Error" not in record.getMessage()
