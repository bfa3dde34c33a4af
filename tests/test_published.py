"""The published tables, the variants, and our scores beside them."""

from __future__ import annotations

import csv
import re
import subprocess
import sys
from collections import Counter, defaultdict
from importlib.resources import files

import pandas as pd
import pytest

from mteb_ext.errors import DataError, ProtocolError
from mteb_ext.measures import Measure
from mteb_ext.papers import PAPERS
from mteb_ext.published import (
    COLUMNS,
    TASKS,
    VARIANTS,
    compare_as_printed,
    load_published,
    published_for,
    standing,
    variants_of,
)
from mteb_ext.published.printed import PRINTED
from mteb_ext.published.tables import long_form

TRACKS = ["1-ar-ar", "2-ar-en", "3-es-es", "4a-es-en", "4b-es-en", "5-en-en"]
COLUMN_NAMES = ["1", "2", "3", "4a", "4b", "5"]
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
        assert row["source"] in PAPERS
        assert row["table"]
        assert row["metric"] in {"pearson", "map", "mrr"}
        assert row["split"] == "test"
        assert row["system"].strip() == row["system"] != ""
        assert 0 <= row["value"] <= 1
        assert row["derived"] == (row["printed"] == "")


def test_value_is_the_printed_number_on_the_unit_scale():
    for row in rows():
        if not row["derived"]:
            scale = 100 if row["source"] == "cer-etal-2017-semeval" else 1
            assert row["value"] == pytest.approx(float(row["printed"]) / scale, abs=1e-9)
            assert f"{row['value'] * scale:.{len(row['printed'].split('.')[1])}f}" == row["printed"]


def test_no_number_stands_twice():
    names = ("task", "subset", "split", "system", "run", "metric", "variant")
    assert max(Counter(tuple(row[n] for n in names) for row in rows()).values()) == 1


def test_every_variant_has_one_sentence():
    for name, variant in VARIANTS.items():
        assert name == variant.id
        assert variant.rule.endswith(".")
        assert set(variant.subsets) <= set(TASKS)


def test_every_table_has_a_verified_number_or_says_that_it_has_none():
    for table in PRINTED:
        numbered = table.place.startswith("Table ")
        on_the_web = table.place.startswith("README ")
        assert numbered + on_the_web + ("table number not verified" in table.note) == 1
        assert {row["table"] for row in rows() if row["source"] == table.paper.key} == {table.place}


# --- the papers -----------------------------------------------------------------------------------


def test_papers_stand_under_the_keys_that_they_are_cited_by():
    for key, paper in PAPERS.items():
        assert re.match(rf"@[a-z]+\{{{re.escape(key)},\n", paper.bibtex)
        assert paper.bibtex.count("{") == paper.bibtex.count("}")
        assert paper.url.startswith("https://")


def test_the_baselines_cite_papers_of_the_package():
    from mteb_ext.baselines import MODEL_METAS

    cited = {meta.name.removeprefix("mteb-ext/"): meta.citation for meta in MODEL_METAS}
    assert cited == {
        "token-cosine": PAPERS["cer-etal-2017-semeval"].bibtex,
        "word-count": PAPERS["yang-etal-2015-wikiqa"].bibtex,
        "weighted-word-count": PAPERS["yang-etal-2015-wikiqa"].bibtex,
        "sentence-bleu": PAPERS["bojar-etal-2017-results"].bibtex,
    }


# --- SemEval-2017, Table 10 ---------------------------------------------------------------------


def printed_lines(name):
    text = files("mteb_ext.published").joinpath("tables", name).read_text("utf-8")
    return list(csv.DictReader(text.splitlines()))


def test_rows_stand_in_the_order_of_the_print_headline_first():
    found = [(row["system"], row["run"], row["variant"], row["subset"]) for row in rows()[:18]]
    expected = [
        ("ECNU", run, variant, subset)
        for run in (1, 2)
        for variant, subset in [
            ("printed-mean-of-7", ""),
            ("mean-of-6", ""),
            *[("per-track", track) for track in TRACKS],
            ("per-track", "default"),
        ]
    ]
    assert found == expected


def test_table_10_is_stored_as_it_is_printed():
    lines = printed_lines("cer2017_table10.csv")
    columns = {
        name: [line[name] for line in lines if line[name]]
        for name in ("Primary", "1", "2", "3", "4a", "4b", "5", "6")
    }
    assert len(lines) == 85
    # How many numbers each column prints, and their sum: taken from the paper's text.
    assert {
        name: (len(column), sum(int(number.replace(".", "")) for number in column))
        for name, column in columns.items()
    } == {
        "Primary": (45, 220_514),
        "1": (49, 254_964),
        "2": (45, 202_943),
        "3": (48, 314_256),
        "4a": (53, 289_079),
        "4b": (53, 57_172),
        "5": (77, 545_538),
        "6": (48, 223_997),
    }


def test_the_long_form_holds_each_printed_number_once():
    subsets = {"Primary": "", "6": "default", **dict(zip(COLUMN_NAMES, TRACKS, strict=True))}
    seen = Counter()
    expected = []
    for line in printed_lines("cer2017_table10.csv"):
        seen[line["system"]] += 1
        for name, subset in subsets.items():
            if line[name]:
                task = "STS17SemEvalTurkish" if name == "6" else "STS17SemEval"
                expected.append((task, subset, line["system"], seen[line["system"]], line[name]))
    names = ("task", "subset", "system", "run", "printed")
    found = [
        tuple(row[name] for name in names)
        for row in rows("STS17SemEval") + rows("STS17SemEvalTurkish")
        if not row["derived"]
    ]
    assert len(found) == 418
    assert sorted(found) == sorted(expected)


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
        assert row["note"].endswith(f"mean of the printed {', '.join(TRACKS)}")
        # Stored to four places, the precision of what it is computed from.
        assert row["value"] * 100 == pytest.approx(sum(tracks[c] for c in TRACKS) / 6, abs=0.0051)
    by_name = {(row["system"], row["run"]): row["value"] for row in derived}
    # (74.40 + 74.93 + 85.59 + 81.31 + 33.63 + 85.18) / 6 = 72.507
    assert by_name["ECNU", 1] == 0.7251
    # 45.695 and 46.245 exactly: a tie goes to the even digit.
    assert by_name["Lump", 3] == 0.4570
    assert by_name["Lump", 2] == 0.4624


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
    ("task", "variant", "source", "expected"),
    [
        (
            "WikiQA",
            "clean-237",
            "yang-etal-2015-wikiqa",
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
            "clean-237",
            "garg2020tanda",
            {("TANDA RoBERTa-Large", "map"): 0.920, ("TANDA RoBERTa-Large", "mrr"): 0.933},
        ),
        (
            "WikiQA",
            "no-all-negative-243",
            "garg2020tanda",
            {("TANDA RoBERTa-Large", "map"): 0.920, ("TANDA RoBERTa-Large", "mrr"): 0.933},
        ),
        (
            "TRECQA",
            "clean-68",
            "garg2020tanda",
            {("TANDA RoBERTa-Large", "map"): 0.943, ("TANDA RoBERTa-Large", "mrr"): 0.974},
        ),
    ],
)
def test_ranking_tables(task, variant, source, expected):
    found = {
        (row["system"], row["metric"]): row["value"]
        for row in rows(task, variant=variant)
        if row["source"] == source
    }
    assert found == expected


def test_only_tandas_numbers_on_wikiqa_are_ambiguous():
    marked = [row for row in rows() if row["ambiguous"]]
    assert {(row["task"], row["source"]) for row in marked} == {("WikiQA", "garg2020tanda")}
    assert {row["variant"] for row in marked} == {"no-all-negative-243", "clean-237"}
    assert all("not settled" in row["note"] for row in marked)
    assert not any("not settled" in row["note"] for row in rows() if not row["ambiguous"])


def test_wmt17():
    found = defaultdict(dict)
    for row in rows("WMT17Metrics", variant="per-pair"):
        found[row["system"], row["source"]][row["subset"].removesuffix("-en")] = row["printed"]
    assert found == {
        ("sentBLEU", "bojar-etal-2017-results"): {
            "cs": "0.435",
            "de": "0.432",
            "fi": "0.571",
            "ru": "0.484",
            "tr": "0.538",
            "zh": "0.512",
        },
        ("RUSE", "zhao-etal-2019-moverscore"): {
            "cs": "0.624",
            "de": "0.644",
            "ru": "0.673",
            "tr": "0.716",
            "zh": "0.691",
        },
    }
    # A mean needs all seven pairs.
    assert rows("WMT17Metrics", variant="mean-of-7-pairs") == []


# --- the loader ---------------------------------------------------------------------------------


def test_filters():
    assert {r["task"] for r in rows()} <= set(TASKS)
    assert {r["task"] for r in rows("WikiQA")} == {"WikiQA"}
    assert {r["variant"] for r in rows("WikiQA")} == {"no-all-negative-243", "clean-237"}
    assert {r["task"] for r in rows(variant="per-track")} == {"STS17SemEval", "STS17SemEvalTurkish"}
    assert len(rows()) == sum(len(rows(task)) for task in TASKS)


def test_a_variant_without_numbers_is_an_empty_frame_of_the_right_types():
    empty = load_published("STSBenchmarkSemEval")
    assert empty.shape == (0, len(COLUMNS))
    assert list(empty.columns) == list(COLUMNS)
    assert list(empty.dtypes) == list(load_published().dtypes)


def test_the_types_are_the_documented_ones():
    frame = load_published()
    for name, kind in COLUMNS.items():
        assert all(isinstance(value, kind) for value in frame[name].tolist())


def test_every_task_with_numbers_is_one_of_the_package():
    from mteb_ext.plugin.discovery import own_tasks

    assert set(TASKS) <= {task.metadata.name for task in own_tasks()}


@pytest.mark.parametrize(
    ("task", "variant", "message"),
    [
        ("wikiQA", None, "Did you mean 'WikiQA'"),
        ("STS17", None, "There are some of STS17SemEval, "),
        ("JACSTS", None, "no published numbers of 'JACSTS' are known here"),
        (3, None, "no published numbers of 3 "),
        (["WikiQA"], None, "no published numbers of "),
        (None, 3, "3 is not a published variant"),
        (None, "clean-242", "Did you mean 'clean-237'"),
        ("WikiQA", "clean-68", "task WikiQA; .*known: no-all-negative-243, clean-237"),
        ("TRECQA", "per-track", "task TRECQA; known: clean-68, raw-95"),
    ],
)
def test_unknown_names_are_refused_with_the_known_ones(task, variant, message):
    with pytest.raises(ProtocolError, match=message):
        load_published(task, variant=variant)


def test_a_frame_can_be_changed_without_changing_the_tables():
    frame = load_published("TRECQA")
    frame.loc[:, "value"] = 0.0
    assert rows("TRECQA")[0]["value"] == 0.943


@pytest.mark.process
def test_loading_does_not_import_mteb():
    code = (
        "import sys, mteb_ext; frame = mteb_ext.load_published('STSBenchmarkSemEval'); "
        "print(len(frame), 'mteb' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "0 False"


@pytest.mark.parametrize(
    ("old", "new"), [("WikiQA MAP", "WikiQA P@1"), ("0.943", "high"), ("system", "team")]
)
def test_a_damaged_table_names_itself(old, new):
    (table,) = (table for table in PRINTED if table.file == "garg2020_tanda.csv")
    text = files("mteb_ext.published").joinpath("tables", table.file).read_text("utf-8")
    assert old in text
    with pytest.raises(DataError, match=r"garg2020_tanda\.csv"):
        list(long_form(table, text.replace(old, new, 1)))


# --- what stands beside a score of ours ----------------------------------------------------------


def beside(task, subset, key, parts=("both", "raw")):
    frame = published_for(task, subset, Measure.parse(key, parts))
    assert list(frame.columns) == list(COLUMNS)
    return frame


@pytest.mark.parametrize(
    ("task", "subset", "key", "variants"),
    [
        ("WikiQA", "default", "map", {"no-all-negative-243"}),
        ("WikiQA", "default", "mrr", {"no-all-negative-243"}),
        ("WikiQA", "default", "map_both_later_first", {"clean-237"}),
        ("WikiQA", "default", "mrr_both_later_first", {"clean-237"}),
        ("WikiQA", "default", "map_both", set()),
        ("WikiQA", "default", "map_both_trec_eval", set()),
        ("WikiQA", "default", "map_later_first", set()),
        ("WikiQA", "default", "map_at_1000", set()),
        ("TRECQA", "default", "map", {"clean-68"}),
        ("TRECQA", "default", "map_both", set()),
        ("TRECQAUnmasked", "default", "map", set()),
        ("STS17SemEval", "5-en-en", "pearson", {"per-track"}),
        ("STS17SemEval", "5-en-en", "spearman", set()),
        ("STS17SemEval", "5-en-en", "cosine_pearson", set()),
        # The printed Primary is over seven tracks, and no mean of ours is.
        ("STS17SemEval", "", "pearson", {"mean-of-6"}),
        ("STS17SemEvalTurkish", "default", "pearson", {"per-track"}),
        ("WMT17Metrics", "zh-en", "pearson", {"per-pair"}),
        ("WMT17Metrics", "lv-en", "pearson", set()),  # nothing is published here
        ("JACSTS", "default", "spearman", set()),
    ],
)
def test_a_measure_stands_beside_the_variants_that_it_follows_only(task, subset, key, variants):
    found = beside(task, subset, key)
    assert set(found["variant"]) == variants
    assert set(found["task"]) <= {task}
    assert set(found["subset"]) <= {subset}


def test_every_variant_with_numbers_that_can_be_ours_stands_beside_a_measure():
    seen = {
        row_variant
        for variant in VARIANTS.values()
        for task, subsets in variant.subsets.items()
        for subset in subsets
        for measure in variant.measures.values()
        for row_variant in published_for(task, subset, measure)["variant"]
    }
    with_numbers = {row["variant"] for row in rows()}
    assert seen == with_numbers - {"printed-mean-of-7"}


def test_settled_numbers_stand_first_and_the_best_of_them():
    found = beside("WikiQA", "default", "map_both_later_first")
    assert list(zip(found["system"], found["ambiguous"], strict=True)) == [
        ("CNN", False),
        ("LCLR", False),
        ("weighted word count", False),
        ("word count", False),
        ("TANDA RoBERTa-Large", True),
    ]
    track = beside("STS17SemEval", "5-en-en", "pearson")["value"].tolist()
    assert len(track) == 77
    assert track == sorted(track, reverse=True)


def test_variants_of_a_task():
    assert [v.id for v in variants_of("WikiQA")] == ["no-all-negative-243", "clean-237"]
    assert variants_of("JACSTS") == []


# --- at the printed precision ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("score", "value", "decimals", "expected"),
    [
        (0.435049, 0.435, 3, 0),  # six digits of ours, three of theirs
        (0.434501, 0.435, 3, 0),
        (0.435501, 0.435, 3, 1),
        (0.434499, 0.435, 3, -1),
        (0.711749, 0.7117, 4, 0),  # r x 100 of 71.17
        (0.711751, 0.7117, 4, 1),
        (0.711649, 0.7117, 4, -1),
        (0.7117, 0.71, 2, 0),
        (-0.0019, 0.0019, 4, -1),
        (1.0, 1.0, 3, 0),
    ],
)
def test_compared_at_the_printed_precision(score, value, decimals, expected):
    assert compare_as_printed(score, value, decimals) == expected


def published(*numbers):
    names = ("value", "decimals", "ambiguous")
    return pd.DataFrame([dict(zip(names, number, strict=True)) for number in numbers])


def test_standing_counts_what_is_strictly_better_and_leaves_the_ambiguous_out():
    table = published(
        (0.436, 3, False),
        (0.4351, 4, False),
        (0.435, 3, False),  # ours would be printed alike
        (0.43, 2, False),  # .44 of ours
        (0.920, 3, True),
    )
    assert standing(0.435049, table) == (2, 4, 1)
    assert standing(0.5, table) == (0, 4, 1)
    assert standing(0.1, table) == (4, 4, 1)
    assert standing(0.5, published((0.920, 3, True))) == (0, 0, 1)


def test_standing_on_the_papers_tables():
    wmt17 = load_published("WMT17Metrics", variant="per-pair")
    # sentBLEU itself, .435, is not better than the .435017 that prints as .435; RUSE is.
    assert standing(0.435017, wmt17[wmt17["subset"] == "cs-en"]) == (1, 2, 0)
    sts17 = load_published("STS17SemEval", variant="per-track")
    track_3 = sts17[sts17["subset"] == "3-es-es"]
    # The baseline's 71.17 is the 27th of 48, and 71.1651 prints as it.
    assert standing(0.711651, track_3) == (26, 48, 0)
    assert standing(0.711649, track_3) == (27, 48, 0)
    wikiqa = load_published("WikiQA", variant="clean-237")
    assert standing(0.4934, wikiqa[wikiqa["metric"] == "map"]) == (3, 4, 1)
