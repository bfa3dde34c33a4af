from __future__ import annotations

import importlib
import subprocess
import sys
from collections import Counter, defaultdict

import pytest

from mteb_ext.errors import DataError, ProtocolError
from mteb_ext.published import (
    COLUMNS,
    COMPARISON_COLUMNS,
    SOURCES,
    TASKS,
    VARIANTS,
    BackendError,
    compare_published,
    load_published,
)
from mteb_ext.published import tables as published_tables

TRACKS = ["1-ar-ar", "2-ar-en", "3-es-es", "4a-es-en", "4b-es-en", "5-en-en"]
BASELINE = ("cosine baseline", 1)


def rows(*args, **kwargs):
    return load_published(*args, **kwargs).to_dict("records")


def sts17():
    """(system, run) -> column -> printed number; columns are tracks, "tr" and the headlines."""
    table = defaultdict(dict)
    for row in rows("STS17SemEval") + rows("STS17SemEvalTurkish"):
        column = row["variant"] if row["subset"] == "" else row["subset"]
        column = "tr" if column == "default" else column
        table[row["system"], row["run"]][column] = row["value"] * 100
    return table


# --- the tables ---------------------------------------------------------------------------------


def test_every_row_is_documented_and_well_formed():
    for row in rows():
        variant = VARIANTS[row["variant"]]
        assert row["subset"] in variant.subsets[row["task"]]
        assert row["source"] in SOURCES
        assert row["metric"] in {"pearson", "map", "mrr"}
        assert row["split"] == "test"
        assert row["system"].strip() == row["system"] != ""
        assert 0 <= row["value"] <= 1
        assert row["derived"] == (row["printed"] == "")


def test_value_is_the_printed_number_on_the_unit_scale():
    for row in rows():
        if not row["derived"]:
            scale = 100 if row["source"] == "cer2017semeval" else 1
            assert row["value"] == pytest.approx(float(row["printed"]) / scale, abs=1e-9)


def test_no_number_stands_twice():
    names = ("task", "subset", "split", "system", "run", "metric", "variant")
    assert max(Counter(tuple(row[n] for n in names) for row in rows()).values()) == 1


def test_every_variant_has_one_sentence():
    for name, variant in VARIANTS.items():
        assert name == variant.id
        assert variant.rule.endswith(".")
        assert set(variant.subsets) <= set(TASKS)


# --- SemEval-2017, Table 10 ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("system", "run", "printed"),
    [
        ("ECNU", 1, [73.16, 74.40, 74.93, 85.59, 81.31, 33.63, 85.18, 77.06]),
        ("HCTI", 2, [59.88, 43.73, 68.36, 67.09, 76.21, 14.83, 81.56, 67.41]),
        ("RTV", 3, [56.33, 61.43, 48.32, 68.63, 61.40, 8.29, 85.47, 60.79]),
        ("Lump", 2, [47.04, 55.08, 13.57, 76.76, 48.25, 11.12, 72.69, 51.79]),
        ("NLPProxem", 3, [40.70, 53.27, 47.73, 0.16, 55.06, 14.40, 66.81, 47.46]),
        ("hjpwhu", 2, [2.94, 4.77, 2.04, 7.63, 0.46, 2.57, 0.69, 2.46]),
        ("cosine baseline", 1, [53.70, 60.45, 51.55, 71.17, 62.20, 3.20, 72.78, 54.56]),
    ],
)
def test_complete_rows_literally(system, run, printed):
    row = sts17()[system, run]
    assert [row[c] for c in ["printed-mean-of-7", *TRACKS, "tr"]] == pytest.approx(printed)


@pytest.mark.parametrize(
    ("system", "run", "printed"),
    [
        ("compiLIG", 1, {"4a-es-en": 83.02, "4b-es-en": 15.50}),
        ("NRC", 2, {"4a-es-en": 28.08, "4b-es-en": 11.33}),
        ("DT TEAM", 1, {"5-en-en": 85.36}),
        ("LIM-LIG", 3, {"1-ar-ar": 59.57}),
        ("FCICU", 3, {"5-en-en": 82.17}),
        ("L2F/INESC-ID", 2, {"5-en-en": 69.52}),
        (
            "L2F/INESC-ID",
            1,
            {"3-es-es": 76.16, "4a-es-en": 1.91, "4b-es-en": 5.44, "5-en-en": 78.11, "tr": 2.93},
        ),
    ],
)
def test_partial_rows_literally(system, run, printed):
    assert sts17()[system, run] == pytest.approx(printed)


def test_the_partial_matrusri_row_repeats_the_first_without_track_2():
    table = sts17()
    complete, partial = table["MatrusriIndia", 1], table["MatrusriIndia", 3]
    assert set(complete) - set(partial) == {"2-ar-en", "printed-mean-of-7", "mean-of-6"}
    assert all(complete[column] == value for column, value in partial.items())


def test_printed_primary_is_the_mean_of_seven_tracks_and_never_of_six():
    table = sts17()
    complete = {name: row for name, row in table.items() if "printed-mean-of-7" in row}
    assert len(complete) == 45
    for row in complete.values():
        seven = sum(row[c] for c in [*TRACKS, "tr"]) / 7
        six = sum(row[c] for c in TRACKS) / 6
        assert row["printed-mean-of-7"] == pytest.approx(seven, abs=0.006)
        assert row["printed-mean-of-7"] != pytest.approx(six, abs=0.006)


def test_mean_of_6_is_derived_from_the_printed_tracks():
    derived = rows("STS17SemEval", variant="mean-of-6")
    table = sts17()
    assert len(derived) == 45
    for row in derived:
        tracks = table[row["system"], row["run"]]
        assert row["derived"]
        assert row["note"].endswith("mean of the printed tracks 1, 2, 3, 4a, 4b and 5")
        # Stored to four places, the precision of what it is computed from.
        assert row["value"] * 100 == pytest.approx(sum(tracks[c] for c in TRACKS) / 6, abs=0.0051)
    ecnu = next(row for row in derived if (row["system"], row["run"]) == ("ECNU", 1))
    assert ecnu["value"] == 0.7251  # (74.40 + 74.93 + 85.59 + 81.31 + 33.63 + 85.18) / 6 = 72.507


def test_participants_per_track_are_table_9s():
    table = sts17()
    counts = Counter(column for row in table.values() for column in row)
    # Table 9 counts the baseline on every track, but not among the 44 of Primary.
    assert [counts[c] for c in [*TRACKS, "tr"]] == [49, 45, 48, 53, 53, 77, 48]
    assert counts["printed-mean-of-7"] - 1 == 44
    assert len(table) - 1 == 84  # submissions, section 6.1
    assert len({system for system, _ in table}) - 1 == 31  # teams


def test_best_of_each_track_is_the_one_that_the_paper_marks():
    best = {}
    for name, row in sts17().items():
        for column, value in row.items():
            best[column] = max(best.get(column, (0, "")), (value, name[0]))
    assert {column: (round(value, 2), name) for column, (value, name) in best.items()} == {
        "1-ar-ar": (75.43, "BIT"),
        "2-ar-en": (74.93, "ECNU"),
        "3-es-es": (85.59, "ECNU"),
        "4a-es-en": (83.02, "compiLIG"),
        "4b-es-en": (34.07, "SEF@UHH"),
        "5-en-en": (85.47, "RTV"),
        "tr": (77.06, "ECNU"),
        "printed-mean-of-7": (73.16, "ECNU"),
        "mean-of-6": (72.51, "ECNU"),
    }


def test_baseline_ranks_23rd_of_the_complete_submissions():
    table = sts17()
    baseline = table[BASELINE]["printed-mean-of-7"]
    assert sum(row.get("printed-mean-of-7", 0) > baseline for row in table.values()) + 1 == 23


def test_late_submissions_are_noted():
    late = {(r["system"], r["run"]) for r in rows() if "corrected or late" in r["note"]}
    assert late == {
        *[("BIT", 1), ("BIT", 2), ("Lump", 1), ("Lump", 2), ("Lump", 3)],
        *[("RTM", 1), ("RTM", 2), ("RTM", 3), ("L2F/INESC-ID", 1), ("L2F/INESC-ID", 3)],
        *[("NRC", 1), ("QLUT", 1), ("QLUT", 3), ("UdL", 2)],
    }


# --- the other papers ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("task", "variant", "expected"),
    [
        (
            "WikiQA",
            "both-237",
            {
                ("word count", "map"): 0.4891,
                ("word count", "mrr"): 0.4924,
                ("weighted word count", "map"): 0.5099,
                ("weighted word count", "mrr"): 0.5132,
                ("LCLR", "map"): 0.5993,
                ("LCLR", "mrr"): 0.6086,
                ("CNN", "map"): 0.6190,
                ("CNN", "mrr"): 0.6281,
            },
        ),
        (
            "WikiQA",
            "clean-243",
            {("TANDA RoBERTa-Large", "map"): 0.920, ("TANDA RoBERTa-Large", "mrr"): 0.933},
        ),
        (
            "TRECQA",
            "clean-68",
            {("TANDA RoBERTa-Large", "map"): 0.943, ("TANDA RoBERTa-Large", "mrr"): 0.974},
        ),
    ],
)
def test_ranking_tables(task, variant, expected):
    found = {(r["system"], r["metric"]): r["value"] for r in rows(task, variant=variant)}
    assert found == expected


def test_wmt17_sentbleu():
    found = {r["subset"]: r["value"] for r in rows("WMT17Metrics", variant="per-pair")}
    expected = {"cs": 0.435, "de": 0.432, "fi": 0.571, "ru": 0.484, "tr": 0.538, "zh": 0.512}
    assert found == {f"{language}-en": value for language, value in expected.items()}


# --- the loader ---------------------------------------------------------------------------------


def test_filters():
    assert {r["task"] for r in rows()} <= set(TASKS)
    assert {r["task"] for r in rows("WikiQA")} == {"WikiQA"}
    assert {r["variant"] for r in rows("WikiQA")} == {"clean-243", "both-237"}
    assert {r["task"] for r in rows(variant="per-track")} == {"STS17SemEval", "STS17SemEvalTurkish"}
    assert len(rows()) == sum(len(rows(task)) for task in TASKS)


@pytest.mark.parametrize("backend", ["pandas", "polars"])
def test_known_without_numbers_is_an_empty_frame_of_the_right_types(backend):
    empty = load_published("STSBenchmarkSemEval", backend=backend)
    full = load_published(backend=backend)
    assert empty.shape == (0, len(COLUMNS))
    assert list(empty.dtypes) == list(full.dtypes)
    assert list(empty.columns) == list(COLUMNS)


@pytest.mark.parametrize(
    ("task", "variant"),
    [("STS17", None), (None, "clean-242"), ("WikiQA", "clean-68"), ("TRECQA", "per-track")],
)
def test_unknown_names_are_refused_with_the_known_ones(task, variant):
    with pytest.raises(ProtocolError, match="known: "):
        load_published(task, variant=variant)


def test_pandas_and_polars_agree():
    assert load_published(backend="polars").to_dicts() == rows()
    scores = {("default", "map"): 0.5, ("default", "mrr"): 0.6}
    arguments = {"variant": "clean-243", "other_variants": True}
    polars = compare_published("WikiQA", scores, backend="polars", **arguments)
    pandas = compare_published("WikiQA", scores, **arguments)
    assert polars.to_dicts() == pandas.to_dict("records")


def test_a_frame_can_be_changed_without_changing_the_tables():
    frame = load_published("TRECQA")
    frame.loc[:, "value"] = 0.0
    assert rows("TRECQA")[0]["value"] == 0.943


def test_unsupported_and_missing_backends_say_what_to_do(monkeypatch):
    with pytest.raises(BackendError, match="choose 'pandas' or 'polars'"):
        load_published(backend="arrow")

    def missing(name):
        raise ModuleNotFoundError(name=name)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(BackendError, match="pip install polars"):
        load_published(backend="polars")


def test_a_broken_backend_speaks_for_itself(monkeypatch):
    def broken(name):
        raise ModuleNotFoundError("No module named 'numpy'", name="numpy")

    monkeypatch.setattr(importlib, "import_module", broken)
    with pytest.raises(ModuleNotFoundError, match="numpy"):
        load_published()


def test_importing_loads_neither_library():
    code = (
        "import sys, mteb_ext.published as p; "
        "print([m for m in ('numpy', 'pandas', 'polars', 'mteb') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("task,subset", "subset,task"),
        ("0.943,0.943", "high,0.943"),
        ("clean-68,false", "clean-68,no"),
        (",clean-68", ""),
    ],
)
def test_a_damaged_table_names_itself(old, new):
    text = published_tables.files("mteb_ext.published").joinpath("tables/trecqa.csv").read_text()
    assert old in text
    with pytest.raises(DataError, match=r"trecqa\.csv"):
        published_tables._read("trecqa.csv", text.replace(old, new, 1))


# --- comparisons --------------------------------------------------------------------------------


def compared(*args, **kwargs):
    frame = compare_published(*args, **kwargs)
    assert list(frame.columns) == list(COMPARISON_COLUMNS)
    return frame.to_dict("records")


def test_comparison_holds_our_variant_only():
    found = compared("WikiQA", {("default", "map"): 0.7}, variant="clean-243")
    assert [(r["system"], r["value"], r["ours"]) for r in found] == [
        ("TANDA RoBERTa-Large", 0.920, False),
        ("ours", 0.7, True),
    ]
    assert all(r["same_variant"] and r["variant"] == "clean-243" for r in found)


def test_other_variants_come_last_and_marked():
    found = compared(
        "WikiQA", {("default", "map"): 0.55}, variant="both-237", other_variants=True, system="mine"
    )
    assert [(r["system"], r["same_variant"]) for r in found] == [
        ("CNN", True),
        ("LCLR", True),
        ("mine", True),
        ("weighted word count", True),
        ("word count", True),
        ("TANDA RoBERTa-Large [clean-243]", False),
    ]


def test_no_comparison_mixes_unmarked():
    for variant in VARIANTS.values():
        for task, subsets in variant.subsets.items():
            scores = {(s, m): 0.5 for s in subsets for m in ("pearson", "map", "mrr")}
            alone = compared(task, scores, variant=variant.id)
            assert {r["variant"] for r in alone} == {variant.id}
            assert all(r["same_variant"] for r in alone)
            for row in compared(task, scores, variant=variant.id, other_variants=True):
                other = row["variant"] != variant.id
                assert row["same_variant"] is not other
                assert row["system"].endswith(f"[{row['variant']}]") is other


def test_headline_of_sts17_meets_the_six_track_mean_first():
    scores = {("", "pearson"): 0.7}
    found = compared("STS17SemEval", scores, variant="mean-of-6", other_variants=True)
    assert [r["system"] for r in found[:3]] == ["ECNU", "ours", "ECNU"]  # .7251, .7, .6992
    assert sum(r["same_variant"] for r in found) == 46
    assert [r["derived"] for r in found[:3]] == [True, False, True]
    assert found[46]["system"] == "ECNU [printed-mean-of-7]"


def test_groups_follow_the_order_of_the_scores():
    scores = {("5-en-en", "pearson"): 0.9, ("1-ar-ar", "pearson"): 0.1}
    found = compared("STS17SemEval", scores, variant="per-track")
    assert [r["subset"] for r in found] == ["5-en-en"] * 78 + ["1-ar-ar"] * 50
    assert found[0]["ours"]
    assert [r["value"] for r in found[:78]] == sorted(
        (r["value"] for r in found[:78]), reverse=True
    )


def test_our_score_stands_alone_where_nothing_is_published():
    dev = compared("WikiQA", {("default", "map"): 0.7}, variant="clean-243", split="dev")
    lv = compared("WMT17Metrics", {("lv-en", "pearson"): 0.6}, variant="per-pair")
    assert [r["ours"] for r in dev + lv] == [True, True]


@pytest.mark.parametrize(
    ("scores", "variant", "message"),
    [
        ({("", "pearson"): 0.7}, "per-track", "defined for the subsets '1-ar-ar'"),
        ({("5-en-en", "pearson"): 0.7}, "mean-of-6", "defined for the subsets ''"),
        ({("", "pearson"): 73.16}, "mean-of-6", "0-1 scale"),
        ({("", "pearson"): float("nan")}, "mean-of-6", "0-1 scale"),
        ({("", "pearson"): 0.7}, "clean-243", "not a published variant of task STS17SemEval"),
    ],
)
def test_scores_that_cannot_be_compared_are_refused(scores, variant, message):
    with pytest.raises(ProtocolError, match=message):
        compare_published("STS17SemEval", scores, variant=variant)
