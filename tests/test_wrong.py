"""What runs get wrong: single pairs and queries, parts of the data, and the command."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from stock_tasks import write_predictions

from mteb_ext import load_dataset
from mteb_ext.analysis.slices import distances, overlap
from mteb_ext.analysis.wrong import wrong_of
from mteb_ext.cli import main
from mteb_ext.errors import DataError

GOLD = np.array([0.0, 1.0, 2.0, 5.0, 5.0])
SCORES = np.array([0.1, 0.3, 0.2, 0.9, 0.4])


def test_distances_say_what_a_correlation_lacks():
    lacking = 1 - np.mean(distances(SCORES, GOLD, "pearson") ** 2) / 2
    assert lacking == pytest.approx(stats.pearsonr(SCORES, GOLD).statistic)
    lacking = 1 - np.mean(distances(SCORES, GOLD, "spearman") ** 2) / 2
    assert lacking == pytest.approx(stats.spearmanr(SCORES, GOLD).statistic)


def test_a_distance_above_0_is_a_score_that_is_too_high():
    # Both have mean 0 and standard deviation 1 already.
    found = distances(np.array([1.0, -1.0]), np.array([-1.0, 1.0]), "pearson")
    assert found.tolist() == [2.0, -2.0]


@pytest.mark.parametrize(
    ("first", "second", "share"),
    [
        ("abcd", "ABCD  e", 1.0),  # abc and bcd of abc, bcd, "cd ", "d e"
        ("abcd", "bcde", 0.5),  # bcd of abc, bcd
        ("試作品", "試作品だ", 1.0),
        ("ab", "abc", 0.0),  # too short for a gram
        ("abc", "xyz", 0.0),
    ],
)
def test_overlap(first, second, share):
    assert overlap(first, second) == overlap(second, first) == share


def test_the_lowest_queries_and_where_the_right_documents_stand(stock, tmp_path):
    """q1: d1 and d2 are relevant; q2: d3, and d9 is not found; q3 has no relevant document."""
    scores = {
        "q1": {"d4": 0.9, "d2": 0.5, "d5": 0.5, "d1": 0.1},
        "q2": {"d3": 0.7, "d1": 0.7, "d2": 0.1},
        "q3": {"d1": 1.0},
    }
    write_predictions(tmp_path, "StockRetrieval", {"default": {"test": scores}})
    shown = wrong_of([tmp_path], "StockRetrieval", texts=True).queries.set_index("id")
    assert list(shown.loc[["q1", "q2"], "first"]) == ["d4", "d1"]  # of equals the wrong one
    assert list(shown.loc[["q1", "q2"], "right"]) == ["d2", "d3"]
    assert list(shown["right_rank"].loc[["q1", "q2", "q3"]]) == [3, 2, 0]
    assert list(shown["right_score"].loc[["q1", "q2"]]) == [0.5, 0.7]
    assert math.isnan(shown["right_score"]["q3"])
    assert shown["value"].is_monotonic_increasing
    assert set(shown["metric"]) == {"ndcg_at_10"}
    assert (shown["text"]["q1"], shown["first_text"]["q1"], shown["right_text"]["q1"]) == (
        "q1",
        "d4",
        "d2",
    )


def test_the_pairs_farthest_from_gold(stock, tmp_path):
    """Gold 0, 1, 2, 5 ranks 1 to 4, the scores 1, 2, 4, 3: only the last two are apart."""
    held = {"test": {"cosine_scores": [0.1, 0.2, 0.9, 0.8]}}
    write_predictions(tmp_path, "StockSTS", {"default": held})
    wrong = wrong_of([tmp_path], "StockSTS", shown=3)
    assert list(wrong.pairs["id"]) == ["2", "3", "0"]
    apart = 1 / math.sqrt(1.25)  # a rank, in standard deviations of 1, 2, 3, 4
    assert list(wrong.pairs["distance"]) == pytest.approx([apart, -apart, 0])
    assert list(wrong.pairs["gold"]) == [2, 5, 0]
    assert list(wrong.pairs["score"]) == [0.9, 0.8, 0.1]
    assert set(wrong.pairs["text"]) == {""}
    texts = wrong_of([tmp_path], "StockSTS", shown=1, texts=True).pairs["text"]
    assert list(texts) == ["c | g"]
    assert wrong.slices.empty  # no part has ten pairs


@pytest.fixture
def pairs(tmp_path, no_data):
    """A model's predictions of JACSTS.sample: its gold, with noise that grows with the length."""
    rows = load_dataset("JACSTS.sample").to_pandas()
    length = (rows["sentence1"] + rows["sentence2"]).map(len)
    noise = np.random.default_rng(0).normal(size=len(rows)) * (length > length.median()) * 3
    scores = (rows["score"] + noise).tolist()
    held = {"default": {"test": {"cosine_scores": scores}}}
    write_predictions(tmp_path, "JACSTS.sample", held, data="sample")
    return tmp_path, rows.assign(scored=scores, length=length)


def test_parts_of_pairs(pairs):
    folder, rows = pairs
    parts = wrong_of([folder], "JACSTS.sample").slices
    by_length = parts[parts["by"] == "characters"]
    assert len(by_length) > 1
    for part in by_length.itertuples():
        low, high = map(int, part.part.split(" to "))
        here = rows[rows["length"].between(low, high)]
        assert part.n == len(here)
        expected = stats.spearmanr(here["score"], here["scored"]).statistic
        assert part.value == pytest.approx(expected)
        assert part.low <= part.value <= part.high
    of_gold = parts[parts["by"] == "gold"]
    assert of_gold["value"].isna().all()
    z = stats.zscore(stats.rankdata(rows["scored"])) - stats.zscore(stats.rankdata(rows["score"]))
    for part in of_gold.itertuples():
        low, high = map(float, part.part.split(" to "))
        here = rows["score"].between(low, high).to_numpy()
        assert part.shift == pytest.approx(z[here].mean())


def test_parts_of_queries(tmp_path, no_data, monkeypatch):
    monkeypatch.setattr("mteb_ext.analysis.slices._FEWEST", 2)
    rows = load_dataset("WikiQA.sample").to_pandas()
    scored = rows.assign(score=[(i * 7) % 5 / 5 for i in range(len(rows))])
    held = {
        query: dict(zip(part["candidate_id"], part["score"], strict=True))
        for query, part in scored.groupby("question_id")
    }
    write_predictions(tmp_path, "WikiQA.sample", {"default": {"test": held}}, data="sample")
    wrong = wrong_of([tmp_path], "WikiQA.sample", shown=100)
    values = wrong.queries.set_index("id")["value"]
    n_right = rows.groupby("question_id")["label"].sum()
    parts = wrong.slices.set_index(["by", "part"])
    for name, here in {"one": n_right == 1, "several": n_right > 1}.items():
        of_part = values[n_right.index[here]]
        assert parts.loc[("relevant", name), "n"] == len(of_part)
        assert parts.loc[("relevant", name), "value"] == pytest.approx(of_part.mean())
    assert {by for by, _ in parts.index} == {"relevant", "candidates", "characters", "overlap"}


def test_the_command(pairs, capsys):
    folder, rows = pairs
    arguments = ["errors", str(folder), "-t", "JACSTS.sample", "-n", "2"]
    assert main(arguments) == 0
    shown = capsys.readouterr().out
    assert "test/a: the pairs farthest from gold" in shown
    assert "test/a: spearman on parts of the data" in shown
    assert not any(text in shown for text in rows["sentence1"])
    assert shown.endswith("Texts: --texts.\n")
    assert main([*arguments, "--texts"]) == 0
    shown = capsys.readouterr().out
    assert 1 <= sum(text in shown for text in set(rows["sentence1"])) <= 2


def test_texts_that_are_not_public_are_never_given(tmp_path, pairs, monkeypatch):
    from mteb_ext.plugin.lookup import find_task

    folder, _ = pairs
    metadata = find_task("JACSTS.sample").metadata
    monkeypatch.setattr(metadata, "is_public", False)
    assert set(wrong_of([folder], "JACSTS.sample", texts=True).pairs["text"]) == {""}


def test_what_is_not_there_is_named(pairs):
    folder, _ = pairs
    with pytest.raises(DataError, match=r"no predictions of test/b on JACSTS\.sample; of test/a"):
        wrong_of([folder], "JACSTS.sample", ["test/b"])
