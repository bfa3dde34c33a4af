"""Measures and result keys: every key is read as one measure, and written back as it stood."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mteb_ext.errors import ProtocolError
from mteb_ext.measures import Measure, check_set_name

KEYS = {  # by hand, from docs/RESULTS.md and mteb's result files
    "map": Measure("map"),
    "mrr_trec_eval": Measure("mrr", ties="trec_eval"),
    "map_best": Measure("map", ties="best"),
    "map_worst": Measure("map", ties="worst"),
    "map_later_first": Measure("map", ties="later_first"),
    "ndcg_at_10": Measure("ndcg", 10),
    "hit_rate_at_1000": Measure("hit_rate", 1000),
    "precision_at_5_raw": Measure("precision", 5, "raw"),
    "map_both": Measure("map", part="both"),
    "map_both_trec_eval": Measure("map", part="both", ties="trec_eval"),
    "pearson": Measure("pearson"),
    "cosine_spearman": Measure("spearman", similarity="cosine"),
    "manhattan_pearson": Measure("pearson", similarity="manhattan"),
    "spearman_3482": Measure("spearman", part="3482"),
    "pearson_main-news": Measure("pearson", part="main-news"),
    "euclidean_spearman_main-news": Measure("spearman", part="main-news", similarity="euclidean"),
    # names that a split at "_" would take apart
    "map_all_judged": Measure("map", part="all_judged"),
    "map_at_10": Measure("map", 10),
    "map_at": Measure("map", part="at"),
    "map_at_10_at_best": Measure("map", 10, "at", "best"),
    "map_a.b": Measure("map", part="a.b"),
}
PARTS = ("both", "raw", "3482", "main-news", "all_judged", "at", "a.b")


@pytest.mark.parametrize(("key", "measure"), KEYS.items(), ids=KEYS)
def test_a_key_is_a_measure_and_the_other_way_round(key, measure):
    assert Measure.parse(key, PARTS) == measure
    assert str(measure) == key


NO_MEASURES = (
    *("", "main_score", "accuracy", "nauc_ndcg_at_10_max", "num_queries", "ci95_low", "hf_subset"),
    *("precision", "recall", "hit_rate_best", "ndcg_at_0", "ndcg_at_05", "map_at_", "Map"),
    *("pearson_at_10", "spearman_best", "cosine_map", "map_expected", "map_axb", "map_both_both"),
    *(
        "map_bothraw",
        "map_",
        "map_both_",
        "map_trec_eval_both",
        "map_best_worst",
        "map\n",
        "map_at_1٣",
    ),
)


@pytest.mark.parametrize("key", NO_MEASURES)
def test_what_is_no_measure(key):
    assert Measure.find(key, PARTS) is None
    with pytest.raises(ProtocolError, match="is not a measure of this task"):
        Measure.parse(key, PARTS)


def test_parts_that_a_task_does_not_have_are_no_guess():
    assert Measure.find("map_both") is None
    assert Measure.find("spearman_3482", ["348"]) is None


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        *(("mapp", "map"), ("MAP", "map"), ("ndcg_at10", "ndcg_at_10")),
        *(
            ("hit_rate", "hit_rate_at_10"),
            ("map_bth", "map_both"),
            ("cosinepearson", "cosine_pearson"),
        ),
    ],
)
def test_a_key_that_is_misspelt(key, meant):
    with pytest.raises(ProtocolError, match=f"^{key} is not .*Did you mean '{meant}'"):
        Measure.parse(key, PARTS)


@pytest.mark.parametrize(
    "fields",
    [
        {"metric": "precision"},
        {"metric": "map", "similarity": "cosine"},
        {"metric": "map", "cutoff": 0},
        {"metric": "pearson", "cutoff": 10},
        {"metric": "pearson", "ties": "best"},
    ],
)
def test_measures_that_do_not_exist(fields):
    with pytest.raises(ProtocolError, match="there is no measure"):
        Measure(**fields)


def test_coefficients():
    assert Measure("pearson").coefficient == "pearson"
    assert Measure("spearman", similarity="cosine").coefficient == "spearman"
    assert Measure("pearson").is_correlation
    assert not Measure("map").is_correlation
    with pytest.raises(ProtocolError, match="map is not a correlation"):
        _ = Measure("map").coefficient


def test_the_key_of_the_number_of_queries():
    assert Measure("map").count_key == Measure("ndcg", 10).count_key == "num_queries"
    assert Measure("map", part="both", ties="best").count_key == "num_queries_both"


@pytest.mark.parametrize(
    "name", ["", "at_10", "at_10_x", "best", "x_worst", "trec_eval", "later_first"]
)
def test_names_of_sets_that_would_be_ambiguous(name):
    with pytest.raises(ProtocolError, match="cannot name a question set"):
        check_set_name(name)


@st.composite
def measures(draw, parts):
    ranking = draw(st.booleans())
    if not ranking:
        metric = draw(st.sampled_from(["pearson", "spearman"]))
        similarity = draw(st.sampled_from(["", "cosine", "manhattan", "euclidean"]))
        return Measure(metric, part=draw(st.sampled_from(parts)), similarity=similarity)
    metric = draw(st.sampled_from(["map", "mrr", "ndcg", "precision", "recall", "hit_rate"]))
    cutoffs = st.integers(1, 2000)
    whole = metric in {"map", "mrr", "ndcg"}
    cutoff = draw(st.none() | cutoffs) if whole else draw(cutoffs)
    ties = draw(st.sampled_from(["expected", "trec_eval", "later_first", "best", "worst"]))
    return Measure(metric, cutoff, draw(st.sampled_from(parts)), ties)


WORDS = st.sampled_from(
    ["at", "10", "both", "trec", "eval", "best", "map", "all_judged", "_", "9", "٣", "precision"]
)
NAMES = st.lists(WORDS, min_size=1, max_size=3).map("_".join) | st.text(min_size=1, max_size=8)


def is_allowed(name):
    try:
        check_set_name(name)
    except ProtocolError:
        return False
    return True


@given(st.data(), st.lists(NAMES.filter(is_allowed), max_size=4, unique=True))
@example(None, ["both", "both_trec"])
def test_every_measure_of_made_up_sets_comes_back(data, names):
    if data is None:
        made = [
            Measure("map", part=name, ties=ties) for name in names for ties in ("best", "trec_eval")
        ]
    else:
        made = [data.draw(measures(["", *names]))]
    for measure in made:
        assert Measure.parse(str(measure), names) == measure


@given(st.text(max_size=30) | st.lists(WORDS, max_size=6).map("_".join))
def test_whatever_is_read_is_written_back(key):
    found = Measure.find(key, PARTS)
    assert found is None or str(found) == key
