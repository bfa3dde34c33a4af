"""A test for each line of docs/REPRODUCTION.md: published, and computed here on the real data."""

from __future__ import annotations

import mteb
import pytest

pytestmark = pytest.mark.real_data


def scores_of(model, name, subset="default", **kwargs):
    task = mteb.get_task(name, **kwargs)
    options = {"show_progress_bar": False}
    result = mteb.evaluate(model, task, cache=None, encode_kwargs=options).task_results[0]
    return next(s for s in result.scores["test"] if s["hf_subset"] == subset)


@pytest.mark.parametrize(
    ("subset", "published", "ours"),
    [
        ("3-es-es", 71.17, 71.17),
        ("5-en-en", 72.78, 72.78),
        ("1-ar-ar", 60.45, 60.53),  # an Arabic Treebank tokenizer there, Moses here
    ],
)
def test_semevals_cosine_baseline(subset, published, ours):
    model = mteb.get_model("mteb-ext/token-cosine")
    found = 100 * scores_of(model, "STS17SemEval", subset, hf_subsets=[subset])["pearson"]
    assert round(found, 2) == ours
    assert abs(ours - published) < 0.1


@pytest.mark.parametrize(
    ("pair", "published"),
    [
        ("cs-en", 0.435),
        ("de-en", 0.432),
        ("fi-en", 0.571),
        ("ru-en", 0.484),
        ("tr-en", 0.538),
        ("zh-en", 0.512),
    ],
)
def test_wmt17s_sentence_bleu(pair, published):
    model = mteb.get_model("mteb-ext/sentence-bleu")
    scores = scores_of(model, "WMT17Metrics", pair, hf_subsets=[pair])
    assert round(scores["pearson"], 3) == published


@pytest.mark.parametrize(
    ("model", "map_published", "mrr_published", "tolerance"),
    [
        ("mteb-ext/word-count", 0.4891, 0.4924, 0.006),
        ("mteb-ext/weighted-word-count", 0.5099, 0.5132, 0.01),
    ],
)
def test_wikiqas_word_counts(model, map_published, mrr_published, tolerance):
    scores = scores_of(mteb.get_model(model), "WikiQA")
    assert scores["num_queries_both"] == 237
    assert scores["map_both_trec_eval"] == pytest.approx(map_published, abs=tolerance)
    assert scores["mrr_both_trec_eval"] == pytest.approx(mrr_published, abs=tolerance)


def test_the_order_of_ties_moves_the_word_count_more_than_models_differ():
    """The README's table: the same scores under three orders of the tied candidates."""
    from mteb_ext import load_dataset
    from mteb_ext.models.word_count import content_words

    scores = scores_of(mteb.get_model("mteb-ext/word-count"), "WikiQA")
    in_file_order = []
    for _, rows in load_dataset("WikiQA").to_pandas().groupby("question_id"):
        if rows["label"].all():
            continue
        asked = content_words(rows["question"].iloc[0])
        counts = [len(asked & content_words(text)) for text in rows["candidate"]]
        order = sorted(range(len(rows)), key=lambda i: -counts[i])  # stable: the file's order
        relevant = [rank for rank, i in enumerate(order, 1) if rows["label"].iloc[i]]
        in_file_order.append(sum(n / rank for n, rank in enumerate(relevant, 1)) / len(relevant))
    assert len(in_file_order) == 237
    assert round(sum(in_file_order) / 237, 3) == 0.667
    assert round(scores["map_both"], 3) == 0.567
    assert round(scores["map_both_trec_eval"], 3) == 0.493
    assert scores["map_best"] - scores["map_worst"] > 0.3


@pytest.mark.models
@pytest.mark.parametrize(
    ("task", "subset", "expected"),
    [
        (
            "WikiQA",
            "default",
            {"map": 0.7219, "mrr": 0.7359, "map_both": 0.7149, "mrr_both": 0.7292},
        ),
        ("STSBenchmarkSemEval", "default", {"pearson": 0.8274, "spearman": 0.8203}),
        ("STS17SemEval", "5-en-en", {"pearson": 0.8802, "spearman": 0.8759}),
    ],
)
def test_all_minilm_l6_v2(minilm, task, subset, expected):
    scores = scores_of(minilm, task, subset, hf_subsets=[subset])
    for key, value in expected.items():
        assert scores[key] == pytest.approx(value, abs=0.0005), key
