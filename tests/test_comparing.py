"""Comparisons of many models from prediction files, and how each format shows them."""

from __future__ import annotations

import io
import json
import re
from dataclasses import astuple, fields, replace
from pathlib import Path

import mteb
import numpy as np
import pandas as pd
import pytest
from conftest import ToyEncoder, spread, toy_meta
from scipy import stats
from stock_tasks import write_predictions

from mteb_ext import load_dataset
from mteb_ext.analysis.beside import published_beside
from mteb_ext.analysis.comparing import compare_runs
from mteb_ext.analysis.ranking import in_benchmark_order, rank_runs, task_ranks
from mteb_ext.analysis.rows import TieRow
from mteb_ext.cli import main
from mteb_ext.errors import DataError, UndefinedMetricError
from mteb_ext.metrics.comparison import compare_means_of
from mteb_ext.metrics.significance import holm
from mteb_ext.tables.compare import brief_tables, comparison_tables
from mteb_ext.tables.comparison_forms import FORMATS, items_to_csv
from mteb_ext.tables.table import plain_lines
from mteb_ext.tables.text import p_value
from mteb_ext.tables.ties import brief_ties_table

MODELS = {"test/good": 0.1, "test/fair": 0.6, "test/bad": 3.0}  # noise beside the gold
TRACKS = ("1-ar-ar", "2-ar-en", "3-es-es", "4a-es-en", "4b-es-en", "5-en-en")


@pytest.fixture
def predictions(tmp_path, no_data):
    """Three models' predictions: the gold of samples, and noise of their own."""
    tracks = {track: load_dataset("STS17SemEval.sample", subset=track)["score"] for track in TRACKS}
    rows = load_dataset("WikiQA.sample", raw=True).to_pandas()
    for model, noise in MODELS.items():
        folder = tmp_path / model.rpartition("/")[2]
        rng = np.random.default_rng(len(model))
        pairs = {
            track: {"test": {"cosine_scores": [g + noise * rng.standard_normal() for g in gold]}}
            for track, gold in tracks.items()
        }
        write_predictions(folder, "STS17SemEval.sample", pairs, model=model, data="sample")
        scored = rows.assign(score=rows["label"] + noise * rng.standard_normal(len(rows)))
        queries = {
            query: dict(zip(part["candidate_id"], part["score"].astype(float), strict=True))
            for query, part in scored.groupby("question_id")
        }
        kept = {"default": {"test": {q: queries[q] for q in kept_questions()}}}
        write_predictions(folder, "WikiQA.sample", kept, model=model, data="sample")
    return tmp_path


def kept_questions():
    return list(dict.fromkeys(load_dataset("WikiQA.sample")["question_id"]))


def predicted(folder, model, task):
    path = folder / model.rpartition("/")[2] / f"{task}_predictions.json"
    return json.loads(path.read_text())


def average_precisions(folder, model):
    """Of each question, by sorting; these predictions have no ties."""
    found = predicted(folder, model, "WikiQA.sample")["default"]["test"]
    values = []
    for question, rows in load_dataset("WikiQA.sample").to_pandas().groupby("question_id"):
        labels = dict(zip(rows["candidate_id"], rows["label"], strict=True))
        ranked = sorted(labels, key=lambda name: -found[question][name])
        hits = [rank for rank, name in enumerate(ranked, 1) if labels[name]]
        values.append(np.mean([n / rank for n, rank in enumerate(hits, 1)]))
    return np.array(values)


def test_scores_and_differences_of_a_ranking(predictions):
    compared = compare_runs([predictions], ["WikiQA.sample"])
    values = {model: average_precisions(predictions, model) for model in MODELS}
    scores = dict(zip(compared.scores["run"], compared.scores["value"], strict=True))
    assert scores == pytest.approx({model: found.mean() for model, found in values.items()})
    assert list(compared.scores["value"]) == sorted(scores.values(), reverse=True)
    assert len(compared.pairs) == 3
    for row in compared.pairs.itertuples():
        paired = values[row.first] - values[row.second]
        assert row.difference == pytest.approx(paired.mean())
        assert row.difference >= 0
        assert (row.first_value, row.second_value) == (scores[row.first], scores[row.second])
        assert (row.wins, row.ties, row.losses) == (
            (paired > 0).sum(),
            (paired == 0).sum(),
            (paired < 0).sum(),
        )
        signs = np.array(np.meshgrid(*[[1, -1]] * len(paired))).reshape(len(paired), -1)
        means = signs.T @ paired / len(paired)
        assert row.p == pytest.approx(np.mean(np.abs(means) >= abs(paired.mean()) - 1e-12))
        interval = stats.ttest_rel(values[row.first], values[row.second]).confidence_interval()
        assert (row.low, row.high) == pytest.approx((interval.low, interval.high))
        assert row.p <= row.p_adjusted <= holm(compared.pairs["p"])[row.Index] + 1e-12
        assert row.significant == (row.p_adjusted <= 0.05)
        assert (row.n, row.unit) == (10, "queries")
        assert row.test == "paired randomisation test over queries"


def test_scores_and_differences_of_a_mean_over_subsets(predictions):
    compared = compare_runs([predictions], ["STS17SemEval.sample"])
    whole = compared.scores[compared.scores["subset"] == ""]
    for row in whole.itertuples():
        found = predicted(predictions, row.run, "STS17SemEval.sample")
        correlations = [
            stats.pearsonr(
                found[track]["test"]["cosine_scores"],
                load_dataset("STS17SemEval.sample", subset=track)["score"],
            )[0]
            for track in TRACKS
        ]
        assert row.value == pytest.approx(np.mean(correlations))
        assert (row.n, row.subsets, row.all_subsets, row.headline) == (48, 6, 6, True)
    tests = compared.pairs.groupby("subset")["test"].agg(set).to_dict()
    assert tests == {track: {"bootstrap-t of the difference"} for track in ("", *TRACKS)}
    beside = compared.pairs.set_index("subset")["p_williams"]
    assert beside[""].isna().all()
    assert beside.drop("").notna().all()
    assert compared.pairs[["wins", "ties", "losses"]].isna().all(axis=None)
    assert not compared.pairs[compared.pairs["subset"] != ""]["headline"].any()


def test_letters_and_the_best(predictions):
    scores = compare_runs([predictions], ["STS17SemEval.sample"]).scores
    whole = scores[scores["subset"] == ""]
    letters = dict(zip(whole["run"], whole["letters"], strict=True))
    assert set(letters["test/good"]).isdisjoint(letters["test/bad"])
    best = whole[whole["best"]]
    pairs = compare_runs([predictions], ["STS17SemEval.sample"]).pairs
    mine = pairs[(pairs["subset"] == "") & (pairs["first"] == "test/good")]
    assert list(best["run"]) == (["test/good"] if mine["significant"].all() else [])


@pytest.mark.parametrize(("p_adjusted", "significant"), [(0.06, False), (0.04, True)])
def test_significant_is_what_is_so_after_the_correction(
    predictions, monkeypatch, p_adjusted, significant
):
    def corrected(values, baseline=None, level=0.05):
        found = compare_means_of(values, baseline=baseline, level=level)
        return [replace(c, p=0.01, p_adjusted=p_adjusted) for c in found]

    monkeypatch.setattr("mteb_ext.analysis.comparing.compare_means_of", corrected)
    compared = compare_runs([predictions], ["WikiQA.sample"])
    assert set(compared.pairs["significant"]) == {significant}
    assert list(compared.scores["letters"]) == (["a", "b", "c"] if significant else ["a"] * 3)
    assert list(compared.scores["best"]) == [significant, False, False]
    beside = compare_runs([predictions], ["WikiQA.sample"], baseline="test/fair").scores
    assert ("same" in set(beside["beside_baseline"])) != significant


def test_a_mean_over_subsets_of_queries_counts_subsets_alike(stock, tmp_path, caplog):
    for model, first, others in (("a", 1, [2, 2, 2]), ("b", 2, [1, 1, 2])):
        ranks = {"x": [first], "y": others}
        held = {
            subset: {
                "test": {f"q{i}": {"d1": -float(rank), "d2": -1.5} for i, rank in enumerate(r, 1)}
            }
            for subset, r in ranks.items()
        }
        write_predictions(tmp_path / model, "StockSubsets", held, model=model)
    compared = compare_runs([tmp_path])
    whole = compared.scores[compared.scores["subset"] == ""]
    values = dict(zip(whole["run"], whole["value"], strict=True))
    assert values == pytest.approx({"a": (1 + 1 / 2) / 2, "b": (1 / 2 + 5 / 6) / 2})
    (row,) = compared.pairs[compared.pairs["subset"] == ""].itertuples()
    assert row.difference == pytest.approx(values["a"] - values["b"])
    assert (row.n, row.subsets, row.wins, row.ties, row.losses) == (4, 2, 1, 1, 2)
    assert set(compared.scores["subset"]) == {"", "y"}
    assert "StockSubsets (test, x) is skipped: comparing means needs" in caplog.text


@pytest.mark.slow
def test_the_order_of_folders_makes_no_difference(predictions):
    folders = [predictions / name for name in ("good", "fair", "bad")]
    first, second = compare_runs(folders), compare_runs(folders[::-1])
    pd.testing.assert_frame_equal(first.scores, second.scores)
    pd.testing.assert_frame_equal(first.pairs, second.pairs)


def test_against_a_baseline(predictions):
    compared = compare_runs([predictions], ["STS17SemEval.sample"], baseline="test/fair")
    whole = compared.pairs[compared.pairs["subset"] == ""]
    assert list(whole["second"]) == ["test/fair"] * 2
    assert set(whole["first"]) == {"test/good", "test/bad"}
    scores = compared.scores[compared.scores["subset"] == ""]
    beside = dict(zip(scores["run"], scores["beside_baseline"], strict=True))
    for row in whole.itertuples():
        expected = "same" if row.p_adjusted > 0.05 else "better" if row.difference > 0 else "worse"
        assert beside[row.first] == expected
    assert beside["test/bad"] == "worse"
    assert beside["test/fair"] == "baseline"
    assert set(scores["letters"]) == {""}
    assert not scores["best"].any()


@pytest.mark.parametrize(
    ("baseline", "said"),
    [("test/gud", "Did you mean 'test/good'"), ("zzz", "There are test/bad, test/fair, test/good")],
)
def test_an_unknown_baseline(predictions, baseline, said):
    with pytest.raises(DataError, match=said):
        compare_runs([predictions], baseline=baseline)


def test_a_baseline_that_lacks_a_task_leaves_the_others(predictions, caplog):
    (predictions / "fair" / "WikiQA.sample_predictions.json").unlink()
    compared = compare_runs([predictions], baseline="test/fair")
    assert set(compared.scores["task"]) == {"STS17SemEval.sample"}
    assert "WikiQA.sample is skipped: the baseline test/fair" in caplog.text


def test_a_task_without_data_here_is_left_out(predictions, caplog):
    for model in MODELS:
        held = {"default": {"test": {"1": {"1-0": 0.5}}}}
        folder = predictions / model.rpartition("/")[2]
        write_predictions(folder, "QABot", held, model=model, data="1")
    assert "QABot" not in set(compare_runs([predictions]).scores["task"])
    assert "QABot is skipped: " in caplog.text


def test_some_subsets_are_whole_without_the_others(predictions, capsys):
    for model in MODELS:
        held = predicted(predictions, model, "STS17SemEval.sample")
        kept = {name: held[name] for name in ("mteb_model_meta", "mteb_ext", "5-en-en")}
        path = predictions / model.rpartition("/")[2] / "STS17SemEval.sample_predictions.json"
        path.write_text(json.dumps(kept))
    scores = compare_runs([predictions], ["STS17SemEval.sample"]).scores
    assert set(scores["subset"]) == {"5-en-en"}
    assert scores["whole"].all()
    assert set(scores["all_subsets"]) == {6}
    assert main(["compare", str(predictions), "--all"]) == 0
    shown = capsys.readouterr().out.partition("Differences\n")[2]
    assert sum("5-en-en" in line for line in shown.splitlines()) == 3


def test_another_metric(predictions, caplog):
    compared = compare_runs([predictions], metric="mrr_both")
    assert set(compared.scores["task"]) == {"WikiQA.sample"}
    assert set(compared.scores["n"]) == {8}
    assert not compared.scores["headline"].any()
    assert "STS17SemEval.sample is skipped: " in caplog.text
    with pytest.raises(DataError, match="nothing to compare by accuracy"):
        compare_runs([predictions], metric="accuracy")


def test_williams_test_is_of_pearson_alone(predictions):
    pairs = compare_runs([predictions], ["STS17SemEval.sample"], metric="spearman").pairs
    assert pairs["p_williams"].isna().all()


def test_a_model_without_a_correlation_is_named(predictions):
    flat = {track: {"test": {"cosine_scores": [0.5] * 8}} for track in TRACKS}
    path = write_predictions(
        predictions / "good", "STS17SemEval.sample", flat, model="test/good", data="sample"
    )
    with pytest.raises(UndefinedMetricError, match=f"STS17SemEval.sample.*1-ar-ar.*{path}"):
        compare_runs([predictions])


def test_a_file_with_scores_that_are_not_finite_is_left_out_and_named(predictions):
    held = predicted(predictions, "test/good", "STS17SemEval.sample")
    held["5-en-en"]["test"]["cosine_scores"][3] = float("nan")
    path = predictions / "good" / "STS17SemEval.sample_predictions.json"
    path.write_text(json.dumps(held))
    compared = compare_runs([predictions])
    assert "test/good" not in set(compared.scores.query("task == 'STS17SemEval.sample'")["run"])
    assert "test/good" in set(compared.scores["run"])
    assert any(f"{path}: the score of row 3 is nan" in remark for remark in compared.remarks)


def test_one_model_and_no_task_in_common(predictions):
    with pytest.raises(DataError, match="predictions of 2 models or more"):
        compare_runs([predictions / "good"])
    for name in ("good", "bad"):
        (predictions / name / "WikiQA.sample_predictions.json").unlink()
    (predictions / "fair" / "STS17SemEval.sample_predictions.json").unlink()
    with pytest.raises(DataError, match=r"WikiQA.sample: 1"):
        compare_runs([predictions / "good", predictions / "fair"])


def runs_of_one_model(tmp_path, *, with_dev):
    """Three runs of one model and another model: 'mid' is the median on test, 'low' best on dev."""
    test = {"low": [4, 3, 1, 2], "mid": [1, 3, 2, 4], "high": [1, 2, 3, 4]}
    dev = {"low": [1, 2, 3, 4], "mid": [4, 1, 3, 2], "high": [2, 1, 4, 3]}
    for run, scores in test.items():
        splits = {"test": {"cosine_scores": scores}}
        if with_dev:
            splits["dev"] = {"cosine_scores": dev[run]}
        write_predictions(tmp_path / run, "StockSTS", {"default": splits}, model="m", revision=run)
    splits = {"test": {"cosine_scores": [2, 1, 3, 4]}, "dev": {"cosine_scores": [2, 1, 3, 4]}}
    write_predictions(tmp_path / "other", "StockSTS", {"default": splits}, model="other")


@pytest.mark.parametrize(("with_dev", "chosen"), [(False, "mid"), (True, "low")])
def test_runs_of_one_model_are_grouped(stock, tmp_path, with_dev, chosen):
    runs_of_one_model(tmp_path, with_dev=with_dev)
    compared = compare_runs([tmp_path], group=True)
    groups = compared.groups.set_index("model")
    gold = [0, 1, 2, 5]
    values = [stats.spearmanr(s, gold)[0] for s in ([4, 3, 1, 2], [1, 3, 2, 4], [1, 2, 3, 4])]
    of_model = groups.loc["m"]
    assert of_model["mean"] == pytest.approx(np.mean(values))
    assert of_model["sd"] == pytest.approx(np.std(values, ddof=1))
    assert (of_model["lowest"], of_model["highest"]) == pytest.approx((min(values), max(values)))
    assert (of_model["runs"], of_model["run"]) == (3, f"m, revision {chosen}")
    assert of_model["chosen_by"] == ("dev" if with_dev else "median")
    assert groups.loc["other", "chosen_by"] == "only run"
    assert np.isnan(groups.loc["other", "sd"])
    assert set(compared.scores["run"]) == {f"m, revision {chosen}", "other"}
    assert set(compared.scores["split"]) == {"test"}
    assert len(compared.pairs) == 1
    for form in ("markdown", "html"):
        assert f"{np.mean(values):.4f}" in FORMATS[form](compared)


def test_a_search_says_how_deep_its_predictions_are(stock, tmp_path):
    for model, score in (("a", 0.75), ("b", 0.25)):
        run = {q: {"d1": 0.5, "d2": score, "d3": 0.625} for q in ("q1", "q2", "q3")}
        held = {"default": {"test": run}}
        write_predictions(tmp_path / model, "StockRetrieval", held, model=model)
    compared = compare_runs([tmp_path])
    assert "first 1,000 documents of a query" in compared.remarks[0]
    assert set(compared.scores["metric"]) == {"ndcg_at_10"}
    assert set(compared.scores["edition"]) == {"mteb's"}


@pytest.mark.slow
def test_a_terminal_shows_what_the_frames_hold(predictions, capsys):
    assert main(["compare", str(predictions), "--all"]) == 0
    shown = capsys.readouterr().out
    compared = compare_runs([predictions])
    tables = ["\n".join(plain_lines(table)) for table in comparison_tables(compared)]
    assert shown == "\n\n".join(tables) + "\n"
    (row,) = compared.pairs[
        (compared.pairs["task"] == "WikiQA.sample")
        & (compared.pairs["second"] == "test/bad")
        & (compared.pairs["first"] == "test/good")
    ].itertuples()
    (line,) = [
        line
        for line in shown.splitlines()
        if re.match(r"WikiQA.sample .* test/good +test/bad ", line)
    ]
    assert re.split(r"  +", line)[6:] == [
        f"{row.difference:.4f}",
        f"{row.low:.4f} to {row.high:.4f}" + ("*" if row.sparse else ""),
        f"{row.wins}/{row.ties}/{row.losses}",
        p_value(row.p),
        p_value(row.p_adjusted),
        f"{row.resolvable:.4f}",
        f"{row.resolvable_adjusted:.4f}",
    ]
    assert "18 more on single subsets" in shown
    assert "step-down" in shown
    assert "WikiQA.sample sample (sample)" in shown


def test_a_terminal_shows_the_models_by_tasks_in_brief(predictions, capsys):
    assert main(["compare", str(predictions)]) == 0
    shown = capsys.readouterr().out
    compared = compare_runs([predictions])
    whole = compared.scores[compared.scores["whole"]]
    for run, rows in whole.groupby("run"):
        cells = "  +".join(rf"{row.value:.4f} {row.letters}" for row in rows.itertuples())
        assert re.search(rf"^{run} +{cells} *$", shown, re.MULTILINE)
    order = re.findall(r"^(test/\w+) +0\.", shown, re.MULTILINE)
    assert order == list(compared.ranks["run"])
    assert "step-down" in shown
    assert "more differences: --all" in shown
    assert "WikiQA.sample sample (sample)" in shown  # the edition, where it is not the paper's


def test_the_differences_in_brief_are_the_bests_from_its_equals_and_the_next(predictions):
    names = ["task", "split", "subset", "metric", "first", "second", "significant"]
    rows = [
        ("T", "test", "", "map", *of_pair)
        for of_pair in (("a", "b", 0), ("a", "c", 1), ("a", "d", 0), ("a", "e", 1), ("b", "c", 1))
    ]
    values = {"a": 0.9, "b": 0.8, "c": 0.7, "d": 0.6, "e": 0.5}
    frame = pd.DataFrame(rows, columns=names)
    compared = compare_runs([predictions], ["WikiQA.sample"])
    filled = pd.concat([compared.pairs.head(1)] * len(frame), ignore_index=True)
    pairs = filled.assign(
        **frame, first_value=frame["first"].map(values), second_value=frame["second"].map(values)
    )
    *_, table = brief_tables(replace(compared, pairs=pairs))
    assert [row[1:3] for row in table.rows] == [("a", "b"), ("a", "c"), ("a", "d")]
    assert table.notes[-1].endswith("2 more differences: --all.")


def test_all_is_shown_beside_a_baseline(predictions, capsys):
    assert main(["compare", str(predictions), "--baseline", "test/fair"]) == 0
    shown = capsys.readouterr().out
    assert "+ and -: significantly better and worse than test/fair." in shown
    assert len(re.findall(r"^WikiQA.sample map .*test/fair", shown, re.MULTILINE)) == 2


def test_names_in_csv_are_no_formulas(predictions):
    compared = compare_runs(predictions)
    pairs = compared.pairs.assign(first="=cmd()", difference=-0.5)
    text = FORMATS["csv"](replace(compared, pairs=pairs))
    assert set(pd.read_csv(io.StringIO(text))["first"]) == {"'=cmd()"}
    assert set(pd.read_csv(io.StringIO(text))["difference"]) == {-0.5}


def test_ranks_over_tasks(predictions):
    compared = compare_runs([predictions])
    assert list(compared.ranks["run"]) == ["test/good", "test/fair", "test/bad"]
    assert set(compared.ranks["tasks"]) == {2}
    values = compared.scores[compared.scores["headline"]].pivot(
        index="run", columns="task", values="value"
    )
    z = ((values - values.mean()) / values.std(ddof=0)).mean(axis=1)
    found = compared.ranks.set_index("run")["mean_z"]
    assert found.to_dict() == pytest.approx(z.to_dict())
    for row in compared.records.itertuples():
        assert 0 <= row.won + row.lost <= row.tasks == 2
    assert compare_runs([predictions], ["WikiQA.sample"]).ranks.empty
    assert compare_runs([predictions], baseline="test/fair").ranks.empty


def test_of_two_tasks_with_the_same_judgements_one_counts(predictions):
    evidence = compare_runs([predictions]).evidence
    twice = [*evidence, replace(evidence[0], task="a copy")]
    assert rank_runs(twice) == rank_runs(evidence)
    other = replace(evidence[0], task="another", judgements="other")
    assert {row.tasks for row in rank_runs([*evidence, other])} == {3}


def test_which_of_two_equal_tasks_counts_does_not_depend_on_their_order(predictions):
    one = compare_runs([predictions]).evidence[0]
    names = ("WMT17MetricsQE", "TRECQAUnmasked", "another", "WMT17Metrics", "TRECQA")
    found = [replace(one, task=name) for name in names]
    for given in (found, found[::-1]):
        ordered = [each.task for each in in_benchmark_order(given)]
        assert ordered == ["TRECQA", "WMT17Metrics", "WMT17MetricsQE", "TRECQAUnmasked", "another"]


def test_the_ranks_on_a_single_task_are_those_of_its_comparisons(predictions):
    compared = compare_runs([predictions], ["WikiQA.sample"])
    scores = compared.scores.set_index("run")
    for row in rank_runs(compared.evidence) + task_ranks(compared.evidence):
        of_run = scores.loc[row.run]
        assert (row.rank_low, row.rank_high) == (of_run["rank_low"], of_run["rank_high"])
        assert row.rank == 1 + (scores["value"] > of_run["value"]).sum()


def test_a_task_of_few_runs_does_not_leave_out_the_others(predictions):
    evidence = compare_runs([predictions]).evidence
    few = replace(evidence[0].kept(evidence[0].runs[:2]), task="few", judgements="other")
    assert rank_runs([*evidence, few]) == rank_runs(evidence)


def test_items_are_known_by_content(predictions):
    pairs, questions = (one.scores.items for one in compare_runs([predictions]).evidence)
    assert len(pairs) == 48
    assert len(questions) == 10
    assert all(" | " in item and item == item.casefold() for item in pairs)


def test_level_and_margin(predictions):
    strict = compare_runs([predictions], ["WikiQA.sample"], level=0.001, margin=0.9)
    usual = compare_runs([predictions], ["WikiQA.sample"])
    assert not strict.pairs["significant"].any()
    assert set(strict.scores["letters"]) == {"a"}
    assert strict.scores["not_worse"].all()
    assert (strict.pairs["low"] < usual.pairs["low"]).all()
    for row in strict.pairs.itertuples():
        error = (row.high - row.low) / 2 / stats.t.ppf(1 - 0.001 / 2, 9)
        expected = stats.t.sf((0.9 - abs(row.difference)) / error, 9)
        assert row.p_equivalent == pytest.approx(expected, rel=1e-6)
    corrected = holm(strict.pairs["p_equivalent"]) <= 0.001
    assert strict.pairs["equivalent"].tolist() == corrected.tolist()
    assert usual.pairs["p_equivalent"].isna().all()


def test_csv_and_json_hold_every_digit(predictions):
    compared = compare_runs([predictions])
    text = io.StringIO(FORMATS["csv"](compared))
    exact = {"float_precision": "round_trip"}
    read = pd.read_csv(text, keep_default_na=False, na_values=[""], **exact)
    assert read["difference"].tolist() == compared.pairs["difference"].tolist()
    assert read["p_adjusted"].tolist() == compared.pairs["p_adjusted"].tolist()
    held = json.loads(FORMATS["json"](compared))
    assert [row["value"] for row in held["scores"]] == compared.scores["value"].tolist()
    assert [row["p"] for row in held["pairs"]] == compared.pairs["p"].tolist()
    assert {row["wins"] for row in held["pairs"] if row["unit"] == "pairs"} == {None}
    assert held["remarks"] == []


def test_items_are_written_with_their_ids(predictions, tmp_path, capsys):
    path = tmp_path / "items.csv"
    assert main(["compare", str(predictions), "--items", str(path), "-t", "WikiQA.sample"]) == 0
    items = pd.read_csv(path, dtype={"id": str}, float_precision="round_trip")
    assert len(items) == 3 * 10
    ids = sorted(set(load_dataset("WikiQA.sample")["question_id"]))
    for (first, second), rows in items.groupby(["first", "second"]):
        ordered = rows.sort_values("id")
        assert list(ordered["id"]) == ids  # as average_precisions is ordered
        for model, column in ((first, "first_value"), (second, "second_value")):
            assert ordered[column].to_numpy() == pytest.approx(
                average_precisions(predictions, model)
            )
    assert (items["difference"] == items["first_value"] - items["second_value"]).all()
    assert main(["compare", str(predictions), "--items", str(tmp_path / "items.txt")]) == 1
    assert "give it the ending .csv" in capsys.readouterr().err


def test_items_of_a_correlation_average_to_it(predictions):
    compared = compare_runs([predictions], ["STS17SemEval.sample"])
    single = compared.pairs[compared.pairs["subset"] != ""].set_index(["subset", "first", "second"])
    frames = list(compared.item_differences())
    assert len(frames) == len(single) == 18
    gold = load_dataset("STS17SemEval.sample", subset="5-en-en")["score"]
    for frame in frames:
        one = frame.iloc[0]
        row = single.loc[one["subset"], one["first"], one["second"]]
        assert frame["first_value"].mean() == pytest.approx(row["first_value"])
        assert frame["difference"].mean() == pytest.approx(row["difference"])
        if one["subset"] == "5-en-en":
            found = predicted(predictions, one["first"], "STS17SemEval.sample")
            scores = found["5-en-en"]["test"]["cosine_scores"]
            # What a pair adds is proportional to what the correlation loses without it.
            without = [
                stats.pearsonr(np.delete(scores, i), np.delete(gold, i))[0]
                for i in range(len(gold))
            ]
            added = frame["first_value"] - frame["first_value"].mean()
            lost = (np.mean(without) - without) * (len(gold) - 1)
            assert added.to_numpy() == pytest.approx(lost, rel=1e-6, abs=1e-9)


def test_names_in_the_items_are_no_formulas(predictions, monkeypatch):
    compared = compare_runs([predictions], ["WikiQA.sample"])
    [first, *_] = compared.item_differences()
    hostile = first.assign(id="=1+1", second="@x", difference=-0.5)
    monkeypatch.setattr(type(compared), "item_differences", lambda self: [hostile, hostile])
    read = pd.read_csv(io.StringIO(items_to_csv(compared)))
    assert len(read) == 2 * len(hostile)
    assert set(read["id"]) == {"'=1+1"}
    assert set(read["second"]) == {"'@x"}
    assert set(read["difference"]) == {-0.5}


def test_items_that_cannot_be_written_leave_the_older_file(predictions, tmp_path, monkeypatch):
    path = tmp_path / "items.csv"
    path.write_text("older")

    def full(self, data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    command = ["compare", str(predictions), "-t", "WikiQA.sample", "--items", str(path)]
    assert main(command) == 1
    assert path.read_text() == "older"


def test_several_metrics_stand_in_one_table(predictions, capsys):
    wanted = ["--metric", "mrr", "map", "-t", "WikiQA.sample", "--table"]
    assert main(["compare", str(predictions), *wanted]) == 0
    head, _, *rows = capsys.readouterr().out.split("\n\n")[0].splitlines()
    assert head == "| model | WikiQA.sample mrr | WikiQA.sample map |"
    both = compare_runs([predictions], ["WikiQA.sample"], metric=["mrr", "map"])
    for row in rows:
        run, *cells = row.strip("| ").split(" | ")
        for metric, cell in zip(("mrr", "map"), cells, strict=True):
            alone = compare_runs([predictions], ["WikiQA.sample"], metric=metric).scores
            [score] = alone[alone["run"] == run].itertuples()
            assert f"{score.value:.4f}" in cell
            assert cell.endswith(f"<sup>{score.letters}</sup>")
    latex = FORMATS["latex"](both)
    assert "each metric by itself" in latex
    assert " & mrr & map " in latex
    assert "each metric" not in FORMATS["latex"](compare_runs([predictions]))
    with pytest.raises(DataError, match="one metric"):
        compare_runs([predictions], metric=["mrr", "map"], group=True)


@pytest.fixture
def hostile(stock, tmp_path):
    """Two models with names that every markup would act on, the first significantly better."""
    names = {r"a_b&c%$#{}\~^|*<i>[x](y)": [1, 2, 3, 4.5], "b\x1b[1m`": [4, 2, 3, 1]}
    for name, scores in names.items():
        held = {"default": {"test": {"cosine_scores": scores}}}
        write_predictions(tmp_path / str(len(name)), "StockSTS", held, model=name)
    return compare_runs([tmp_path])


def test_latex(hostile):
    lines = FORMATS["latex"](hostile).splitlines()
    (row,) = [line for line in lines if line.startswith("a")]
    name, value = row.removesuffix(r" \\").split(" & ")
    escaped = r"a\_b\&c\%\$\#\{\}\textbackslash{}\textasciitilde{}\textasciicircum{}|*<i>[x](y)"
    assert name == escaped
    (score,) = hostile.scores[hostile.scores["run"].str.startswith("a")].itertuples()
    bold = f"\\textbf{{{score.value:.4f}}}" if score.best else f"{score.value:.4f}"
    assert value == f"{bold}\\textsuperscript{{{score.letters}}}"
    (other,) = [line for line in lines if line.startswith("b")]
    assert other.startswith(r"b\textbackslash{}x1b[1m` & $-$")  # its score is below 0
    (text,) = [line for line in lines if line.startswith(r"\caption")]
    assert "bootstrap-t of the difference (cosine\\_spearman)" in text
    assert "5\\% level" in text
    assert "StockSTS mteb's (1)" in text
    assert "Bold: significantly better" in text


def test_markdown_and_html(hostile):
    markdown = FORMATS["markdown"](hostile)
    assert r"| a\_b&amp;c%$#{}\\\~^\|\*&lt;i&gt;\[x\](y) | " in markdown
    assert "\x1b" not in markdown
    page = FORMATS["html"](hostile)
    assert "<td>a_b&amp;c%$#{}\\~^|*&lt;i&gt;[x](y)</td>" in page
    assert "<i>" not in page
    assert "\x1b" not in page
    assert '<meta charset="utf-8">' in page


@pytest.mark.parametrize("form", ["latex", "markdown", "html"])
def test_every_table_shows_the_whole_scores_and_names(predictions, form):
    compared = compare_runs([predictions])
    text = FORMATS[form](compared)
    scores = compared.scores
    for row in scores[(scores["subset"] == "") | (scores["task"] == "WikiQA.sample")].itertuples():
        assert f"{row.value:.4f}" in text
        assert row.run in text
        assert row.task in text


def test_p_is_never_shown_as_0():
    shown = [p_value(p) for p in (1e-300, 0.00009, 0.0001, 0.5)]
    assert shown == ["<0.0001", "<0.0001", "0.0001", "0.5000"]


def test_an_unknown_ending_is_refused(predictions, tmp_path, capsys):
    assert main(["compare", str(predictions), "-o", str(tmp_path / "x.pdf")]) == 1
    assert "x.pdf: give it one of the endings .md, .tex" in capsys.readouterr().err
    assert not (tmp_path / "x.pdf").exists()


@pytest.mark.parametrize(
    ("options", "name", "begins"),
    [
        ([], "x.tex", "% needs"),
        ([], "x.md", "| model |"),
        ([], "x.csv", "task,split"),
        ([], "x.json", "{"),
        ([], "x.html", "<!doctype html>"),
        ([], "x.txt", "Ranks over tasks\n"),
        (["--format", "json"], "x.txt", "{"),
    ],
)
def test_output_to_a_file(predictions, tmp_path, capsys, options, name, begins):
    path = tmp_path / name
    assert main(["compare", str(predictions), *options, "-o", str(path)]) == 0
    assert path.read_text("utf-8").startswith(begins)
    assert capsys.readouterr().out == f"wrote {path}\n"


WRONG = {
    "misspelt task": (["-t", "WikiQAA.sample"], "there is no task 'WikiQAA.sample'"),
    "no predictions": (["-t", "TRECQA.sample"], "no predictions of TRECQA.sample here"),
    "baseline": (["--baseline", "gud"], "no model 'gud'"),
    "metric": (["--metric", "f1"], "nothing to compare by f1"),
}


@pytest.mark.parametrize(("options", "said"), WRONG.values(), ids=WRONG)
def test_wrong_input_is_one_line_at_the_end(predictions, capsys, options, said):
    assert main(["compare", str(predictions), *options]) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert said in shown.err.splitlines()[-1]


def test_ties_on_the_command_line(predictions, capsys):
    assert main(["ties", str(predictions), "-t", "WikiQA.sample", "--all"]) == 0
    lines = capsys.readouterr().out.splitlines()
    (line,) = [line for line in lines if re.search(r"test/good +map ", line)]
    assert line.split()[5:8] == ["0", "of", "10"]


def test_ties_in_brief_are_the_main_scores_that_can_move(capsys):
    columns = [field.name for field in fields(TieRow)]
    row = TieRow("T", "test", "s", "org/a", "map", True, 9, 2, 0.5, 0.4, 0.6, 0.5, 0.2)
    rows = [row, replace(row, run="org/b", width=0.00004), replace(row, metric="mrr", main=False)]
    table = brief_ties_table(pd.DataFrame(map(astuple, rows), columns=columns))
    assert [(shown[3], shown[4]) for shown in table.rows] == [("org/a", "map")]
    assert table.notes[-1] == "1 of 2 main scores no order can move. Other metrics: --all."


def test_published_numbers_stand_beside_scores_of_their_variant():
    scores = pd.DataFrame(
        [
            ("STS17SemEval", "test", "", "pearson", "paper's", 6, 6),
            ("STS17SemEval", "test", "5-en-en", "spearman", "paper's", 1, 6),
            ("WMT17Metrics", "test", "", "pearson", "paper's", 6, 7),
            ("WikiQA", "test", "default", "map_both_later_first", "paper's", 1, 1),
            ("WikiQA", "test", "default", "map_both_trec_eval", "paper's", 1, 1),
            ("TRECQA", "dev", "default", "map", "paper's", 1, 1),
            ("STSBenchmarkSemEval", "test", "default", "pearson", "another edition", 1, 1),
            ("STS12", "test", "default", "cosine_spearman", "mteb's", 1, 1),
        ],
        columns=["task", "split", "subset", "metric", "edition", "subsets", "all_subsets"],
    )
    found = published_beside(scores)
    assert set(zip(found["task"], found["variant"], found["metric"], strict=True)) == {
        ("STS17SemEval", "mean-of-6", "pearson"),
        ("WikiQA", "clean-237", "map_both_later_first"),
    }
    of_wikiqa = found[found["task"] == "WikiQA"]
    assert of_wikiqa["value"].tolist() == [0.619, 0.5993, 0.5099, 0.4891, 0.92]
    assert of_wikiqa["ambiguous"].tolist() == [False] * 4 + [True]


def stock_model(name):
    """An encoder as mteb's own tasks want it, whose vectors depend on its name."""
    from mteb.similarity_functions import cos_sim, pairwise_cos_sim

    class StockModel(ToyEncoder):
        def similarity(self, embeddings1, embeddings2):
            return cos_sim(embeddings1, embeddings2)

        def similarity_pairwise(self, embeddings1, embeddings2):
            return pairwise_cos_sim(embeddings1, embeddings2)

    model = StockModel(lambda text: spread(name + text))
    model.mteb_model_meta = toy_meta(name)
    return model


def test_scores_of_mtebs_own_tasks_are_mtebs(stock, tmp_path):
    pytest.importorskip("torch")
    main_scores = {}
    for name in ("test/a", "test/b"):
        results = mteb.evaluate(
            stock_model(name),
            mteb.get_tasks(tasks=["StockSTS", "StockRetrieval"]),
            cache=None,
            prediction_folder=tmp_path / name[-1],
        )
        main_scores |= {(result.task_name, name): result.get_score() for result in results}
    scores = compare_runs([tmp_path]).scores
    found = dict(zip(zip(scores["task"], scores["run"], strict=True), scores["value"], strict=True))
    assert found == pytest.approx(main_scores, abs=1e-5)  # mteb rounds to five decimals
    assert len(set(main_scores.values())) == 4
