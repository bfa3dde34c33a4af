"""The leaderboard: what counts and ranks, what its pages show, and where they are written."""

from __future__ import annotations

import base64
import csv
import errno
import functools
import hashlib
import html
import io
import json
import math
import os
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path, PurePosixPath

import mteb
import numpy as np
import pandas as pd
import pytest
from chromium import CHROMIUM, chromium
from conftest import ToyEncoder, toy_meta
from mteb.models.model_implementations import MODEL_REGISTRY
from stock_tasks import StockSTS
from test_page import EVIL, Reader, seeded
from test_results import TRACKS, WIKIQA, sts, write_result

from mteb_ext import load_dataset, load_results
from mteb_ext.cli import main
from mteb_ext.errors import DataError
from mteb_ext.formats.leaks import Count, Leaks, SubsetSeen, write_leaks
from mteb_ext.pages.html import paper_name
from mteb_ext.pages.leaderboard import axis_of, file_name, site_files
from mteb_ext.pages.leaderboard.data import borda_ranks, leaderboard
from mteb_ext.pages.site_folder import LISTING, MARK, check_place, write_site
from mteb_ext.tables.text import p_value, printable
from mteb_ext.verification.findings import Finding, VerifyReport

SAMPLES = ("STS17SemEval.sample", "WikiQA.sample")
NOTHING = VerifyReport([], {})


def board_of(folder, verified=NOTHING):
    return leaderboard(load_results(folder), [folder], verified)


def ranking(board, name):
    (found,) = [r for r in board.rankings if r.name == name]
    return found


# What counts, and the ranks.


def test_borda_ranks():
    """Points: a 2 + 1.5, b 1 + 0, c 0 + 1.5."""
    values = pd.DataFrame({"x": [0.9, 0.5, 0.1], "y": [0.7, 0.2, 0.7]}, index=["a", "b", "c"])
    assert borda_ranks(values) == {"a": 1, "b": 3, "c": 2}


def test_as_many_points_share_the_better_rank():
    values = pd.DataFrame({"x": [0.9, 0.5, 0.1], "y": [0.1, 0.2, 0.0]}, index=["a", "b", "c"])
    assert borda_ranks(values) == {"a": 1, "b": 1, "c": 3}


def test_ranks_are_those_of_mteb():
    from mteb.benchmarks._create_table import _get_borda_rank
    from polars import DataFrame

    values = np.random.default_rng(0).integers(0, 4, (9, 5)) / 4
    columns = [f"t{i}" for i in range(5)]
    of_mteb = DataFrame(values, schema=columns).select(_get_borda_rank(columns)).to_series()
    ours = borda_ranks(pd.DataFrame(values, columns=columns))
    assert list(ours.values()) == of_mteb.to_list()


def write_wikiqa(folder, model, value, **options):
    entry = {**WIKIQA, "map": value, "main_score": value}
    return write_result(folder, "WikiQA", {"test": [entry]}, model=model, **options)


def write_trecqa(folder, model, value):
    entry = {"hf_subset": "default", "map": value, "main_score": value, "num_queries": 68}
    write_result(folder, "TRECQA", {"test": [entry]}, model=model)


def test_only_complete_models_have_a_rank(tmp_path):
    for model, wikiqa, trecqa in (("x/a", 0.5, 0.5), ("x/b", 0.25, 0.75), ("x/c", 0.125, 0.25)):
        write_wikiqa(tmp_path, model, wikiqa)
        write_trecqa(tmp_path, model, trecqa)
    write_wikiqa(tmp_path, "x/best-but-incomplete", 0.875)
    found = ranking(board_of(tmp_path), "TANDA-AS2")
    assert found.columns == found.ranked == [("TRECQA", "test"), ("WikiQA", "test")]
    assert found.ranks == {"x/a": 1, "x/b": 1, "x/c": 3}
    assert found.runs == ["x/a", "x/b", "x/c", "x/best-but-incomplete"]
    assert found.without_results == []


def test_models_without_a_rank_stand_by_what_they_have_and_that_is_said_first(tmp_path):
    write_wikiqa(tmp_path, "x/whole", 0.25)
    write_trecqa(tmp_path, "x/whole", 0.25)
    for model, wikiqa in (("x/a", 0.5), ("x/b", 0.75)):
        write_wikiqa(tmp_path, model, wikiqa)
    board = board_of(tmp_path)
    assert ranking(board, "TANDA-AS2").runs == ["x/whole", "x/b", "x/a"]
    for page in (f"benchmarks/{file_name('TANDA-AS2')}.html", "index.html"):
        before, _, after = site_files(board, "1")[page].partition("2 of 3 models lack a task here")
        assert "x/<wbr>b" not in before
        assert "x/<wbr>b" in after


def test_the_first_page_shows_the_first_five_models_of_each_benchmark(tmp_path):
    for i in range(6):
        write_wikiqa(tmp_path, f"x/{i}", 0.125 * i)
        write_trecqa(tmp_path, f"x/{i}", 0.125 * i)
    page = site_files(board_of(tmp_path), "1")["index.html"]
    table = Reader(page).tables[0]
    assert [row[1] for row in table[1:6]] == [f"x/{i}" for i in (5, 4, 3, 2, 1)]
    assert table[1][2].startswith("0.6250")
    assert len(table) == 7  # and the head and the axis
    assert "All 6 models" in page


def test_a_task_shows_a_made_up_row(tmp_path):
    write_wikiqa(tmp_path, "x/a", 0.5)
    write_result(tmp_path, "JACSTS", {"test": [sts_spearman(0.5)]}, model="x/a")
    files = site_files(board_of(tmp_path), "1")
    first = next(one for one in load_dataset("WikiQA.sample") if one["label"])
    assert html.escape(first["question"], quote=False) in files[f"tasks/{file_name('WikiQA')}.html"]
    pair = load_dataset("JACSTS.sample")[0]
    assert pair["sentence1"] in files[f"tasks/{file_name('JACSTS')}.html"]
    assert "A made-up row" in files[f"tasks/{file_name('JACSTS')}.html"]


@pytest.mark.slow
def test_how_far_a_model_is_behind_the_first(board, files):
    table = Reader(files[f"tasks/{file_name('WikiQA.sample')}.html"]).tables[0]
    pairs = board.page.compared["WikiQA.sample"].pairs
    pairs = pairs.assign(first=pairs["first"].map(printable), second=pairs["second"].map(printable))
    of_best = pairs[pairs["first"] == table[1][0]].set_index("second")
    assert table[1][3] == ""
    for row in (row for row in table[2:] if row[0]):
        lead = of_best.loc[row[0]]
        p = p_value(lead["p_adjusted"])
        assert row[3] == f"{lead.difference:.4f}p {p}, finds {lead.resolvable_adjusted:.4f}"


@pytest.mark.slow
def test_the_distribution_over_queries(board, files):
    page = files[f"tasks/{file_name('WikiQA.sample')}.html"]
    counts = re.findall(r"<rect .*?<title>[\d.]+ to [\d.]+: (\d+)</title>", page)
    held = board.page.distribution.query("task == 'WikiQA.sample'")
    runs = held.groupby("run")["mean"].first().sort_values(ascending=False, kind="stable").index
    expected = [n for run in runs for n in held[held["run"] == run]["queries"]]
    assert list(map(int, counts)) == expected


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("map", "MAP"),
        ("mean pearson", "mean Pearson's r"),
        ("spearman_3482", "spearman_3482"),
        ("ndcg_at_10", "nDCG@10"),
        ("mrr_at_10", "MRR@10"),
        ("cosine_spearman", "cosine_spearman"),
    ],
)
def test_metrics_are_named_as_papers_do(name, shown):
    assert paper_name(name) == shown


@pytest.mark.parametrize(
    ("values", "marks"),
    [
        ([0.31, 0.79], [0.4, 0.6, 0.8]),
        ([0.48, math.nan, 0.53], [0.48, 0.5, 0.52]),
        ([20.0, 80.0], [20.0, 40.0, 60.0, 80.0]),
    ],
)
def test_an_axis_has_round_marks(values, marks):
    low, high, found = axis_of(values)
    assert found == pytest.approx(marks)
    assert low < np.nanmin(values) <= np.nanmax(values) < high


def test_what_was_seen_in_training_stands_on_a_models_page(tmp_path, monkeypatch):
    meta = toy_meta("x/a", training_datasets={"WikiQA"})
    monkeypatch.setitem(MODEL_REGISTRY, "x/a", meta)
    for model in ("x/a", "x/b"):
        write_wikiqa(tmp_path, model, 0.5)
        write_trecqa(tmp_path, model, 0.5)
    some = Count(exact=4, near=0)
    seen = SubsetSeen(
        task="WikiQA",
        split="test",
        subset="default",
        dataset_revision="1",
        item="question",
        items=9,
        any_text=some,
        whole=some,
        headline_items=9,
        headline_any_text=some,
        sides=(),
        exact_items=("1", "2", "3", "4"),
        near_items=(),
    )
    leaks = Leaks(model="x/a", rule="equal", training=(), tasks=(seen,))
    write_leaks(tmp_path / "x.leaks.json", leaks)
    files = site_files(board_of(tmp_path), "1")
    page = files[f"models/{file_name('x/a')}.html"]
    assert "not on WikiQA" in page
    assert "4 of 9" in page
    assert "4 of 9" not in files[f"models/{file_name('x/b')}.html"]


def test_a_task_without_results_is_named_and_a_private_one_is_no_hindrance(tmp_path):
    write_result(tmp_path, "JACSTS", {"test": [sts_spearman(0.5)]}, model="x/a")
    write_result(tmp_path, "JACSTS", {"test": [sts_spearman(0.75)]}, model="x/b")
    found = ranking(board_of(tmp_path), "JapaneseSTSIR")
    assert (found.without_results, found.ranks) == (["QABot"], {"x/a": 2, "x/b": 1})

    entry = {"hf_subset": "default", "map": 0.5, "main_score": 0.5, "num_queries": 20}
    write_result(tmp_path, "QABot", {"test": [entry]}, model="x/a")
    found = ranking(board_of(tmp_path), "JapaneseSTSIR")
    assert found.columns == [("JACSTS", "test"), ("QABot", "test")]
    assert found.ranked == [("JACSTS", "test")]
    assert (found.without_results, found.ranks) == ([], {"x/a": 2, "x/b": 1})


def sts_spearman(value):
    return {"hf_subset": "default", "spearman": value, "main_score": value}


@pytest.mark.slow
def test_what_counts_nowhere(tmp_path):
    """Another split, another edition of the data, a part of the subsets, and what failed."""
    write_wikiqa(tmp_path, "x/a", 0.5)
    write_wikiqa(tmp_path, "x/edited", 0.875)
    dev = {**WIKIQA, "map": 0.75, "main_score": 0.75}
    write_result(tmp_path, "WikiQA", {"dev": [dev]}, model="x/dev")
    write_wikiqa(tmp_path, "x/other", 0.75, data="unverified-0123")
    write_result(tmp_path, "STS17SemEval", {"test": [sts("3-es-es", 0.5)]}, model="x/part")
    write_result(tmp_path, "NotHere", {"test": [sts("default", 0.5)]}, model="x/unknown", data="1")
    failed = VerifyReport([], {("x/edited", "1", "WikiQA"): "failed"})
    board = board_of(tmp_path, failed)
    counts = dict(zip(board.scores["run"], board.scores["counts"], strict=True))
    assert {run for run, counting in counts.items() if counting} == {"x/a"}
    assert len(counts) == 6
    assert [(r.name, r.runs) for r in board.rankings] == [
        ("TANDA-AS2", ["x/a"]),
        ("mteb-ext", ["x/a"]),
    ]


def test_verdicts_and_findings_are_those_of_verify(tmp_path):
    write_wikiqa(tmp_path, "x/a", 0.5)
    path = write_wikiqa(tmp_path, "x/b", 0.25)
    finding = Finding("changed-score", path, "x/b", "1", "WikiQA", "It was <edited>.", "Rerun.")
    note = replace(finding, code="no-stamp", reason="No stamp.", remedy="Nothing.")
    rule = replace(finding, code="task-not-in-mteb", reason="Not in mteb.")
    findings = [finding, note, rule, replace(note, task="TRECQA")]
    verdicts = {("x/a", "1", "WikiQA"): "verified", ("x/b", "1", "WikiQA"): "failed"}
    board = board_of(tmp_path, VerifyReport(findings, verdicts))
    assert board.scores["verdict"].tolist() == ["verified", "failed"]
    files = site_files(board, "1")
    of_b = files[f"models/{file_name('x/b')}.html"]
    assert re.findall("<li>(.*?)</li>", of_b) == [
        "<b>error</b>, WikiQA: It was &lt;edited&gt;.",
        "<b>note</b>, WikiQA, TRECQA: No stamp.",
    ]
    assert "Rerun" not in of_b  # a command names places on the machine of whoever made the site
    assert "✗ failed" in of_b
    of_a = files[f"models/{file_name('x/a')}.html"]
    assert "✓ verified" in of_a
    assert "edited" not in of_a
    assert "✗ failed" in files[f"tasks/{file_name('WikiQA')}.html"]
    assert "✗ failed" not in files[f"benchmarks/{file_name('TANDA-AS2')}.html"]  # it is not there


def test_the_head_of_a_column_is_that_of_scores_that_count(tmp_path):
    whole = {"test": [sts(track, 0.5) for track in TRACKS]}
    write_result(tmp_path, "STS17SemEval", whole, model="x/a")
    write_result(tmp_path, "STS17SemEval", {"test": [sts("3-es-es", 0.25)]}, model="x/z")
    verified = VerifyReport([], {("x/z", "1", "STS17SemEval"): "failed"})
    page = site_files(board_of(tmp_path, verified), "1")[
        f"benchmarks/{file_name('SemEval2017-STS')}.html"
    ]
    assert Reader(page).tables[0][0][2] == "STS17SemEvalmean Pearson's r1,500 pairs"


def test_splits_stand_apart_on_the_page_of_a_task(tmp_path, stock, monkeypatch):
    both = StockSTS.metadata.model_copy(update={"eval_splits": ["dev", "test"]})
    monkeypatch.setattr(StockSTS, "metadata", both)
    scores = {
        split: [{"hf_subset": "default", "cosine_spearman": value, "main_score": value}]
        for split, value in (("dev", 0.75), ("test", 0.5))
    }
    write_result(tmp_path, "StockSTS", scores, model="x/a")
    page = site_files(board_of(tmp_path), "1")[f"tasks/{file_name('StockSTS')}.html"]
    assert [table[1][:2] for table in Reader(page).tables] == [["x/a", "0.7500"], ["x/a", "0.5000"]]
    assert re.findall("<h2>(.*?)</h2>", page) == ["Protocol", "Models, dev", "Models"]


def test_a_failed_result_leaves_its_model_without_a_rank(tmp_path):
    for model, value in (("x/a", 0.5), ("x/b", 0.25)):
        write_wikiqa(tmp_path, model, value)
        write_trecqa(tmp_path, model, value)
    board = board_of(tmp_path, VerifyReport([], {("x/a", "1", "WikiQA"): "failed"}))
    assert ranking(board, "TANDA-AS2").ranks == {"x/b": 1}
    page = site_files(board, "1")[f"benchmarks/{file_name('TANDA-AS2')}.html"]
    rows = {row[1]: row for row in Reader(page).tables[0][1:]}
    assert rows["x/a"][0] == "—"
    assert sorted(rows["x/a"][2:4]) == ["0.5000", "failed to verify"]


@pytest.mark.slow
def test_no_result_is_compared_with_one_that_failed(folder, tmp_path):
    """Its predictions do not fit the data, which would end the comparison of all."""
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    path = copy / "test-two" / "WikiQA.sample_predictions.json"
    content = json.loads(path.read_text())
    content["default"]["test"].popitem()
    path.write_text(json.dumps(content))
    compared = board_of(copy).page.compared
    assert "test/two" not in set(compared["WikiQA.sample"].scores["run"])
    verified = VerifyReport([], {("test/two", "1", "WikiQA.sample"): "failed"})
    compared = board_of(copy, verified).page.compared
    runs = set(compared["WikiQA.sample"].scores["run"])
    assert "test/one" in runs
    assert "test/two" not in runs
    assert "test/two" in set(compared["STS17SemEval.sample"].scores["run"])


# What the pages show.


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Four models on two samples, one of them on one; one's name is made to break the page."""
    place = tmp_path_factory.mktemp("leaderboard")
    for seed, name in enumerate(("test/one", "test/two", "test/evil", "test/incomplete"), 1):
        model = ToyEncoder(functools.partial(seeded, seed))
        model.mteb_model_meta = toy_meta(name, reference="javascript:alert(3)")
        mteb.evaluate(
            model,
            mteb.get_tasks(tasks=list(SAMPLES[seed == 4 :])),
            cache=mteb.ResultCache(place / "results"),
            prediction_folder=place / name.replace("/", "-"),
            encode_kwargs={"show_progress_bar": False},
        )
    for path in place.rglob("*.json"):
        path.write_text(path.read_text().replace('"test/evil"', json.dumps(EVIL)))
    return place


LONG = "x" * 300


@pytest.fixture(scope="module")
def board(folder):
    long = Finding("no-stamp", folder, "test/one", "1", "WikiQA.sample", f"It is {LONG}.", "")
    return board_of(folder, VerifyReport([long], {}))


@pytest.fixture(scope="module")
def files(board):
    return site_files(board, "1.2.3")


def pages(files):
    return {path: text for path, text in files.items() if path.endswith(".html")}


@pytest.mark.slow
def test_there_is_a_page_for_everything(board, files):
    names = {
        "index.html",
        f"benchmarks/{file_name('Samples')}.html",
        *(f"tasks/{file_name(task)}.html" for task in SAMPLES),
        *(f"models/{file_name(model)}.html" for model in board.models),
    }
    assert set(pages(files)) == names
    assert len(board.models) == 4


@pytest.mark.slow
def test_every_link_leads_to_a_file_of_the_site_or_to_the_web(files):
    n = 0
    for path, page in pages(files).items():
        for attrs in Reader(page).all("a"):
            href = attrs["href"]
            if href.startswith("https://"):
                assert attrs["rel"] == "noopener noreferrer"
                continue
            target = PurePosixPath(path).parent / href.partition("#")[0]
            if not href.startswith("#"):
                assert os.path.normpath(target) in files
                n += 1
    assert n > 40


@pytest.mark.slow
def test_pages_fetch_nothing_and_run_only_their_own_script(files):
    for page in pages(files).values():
        reader = Reader(page)
        for tag, attrs in reader.elements:
            assert tag not in {"img", "iframe", "object", "embed", "base", "link", "form"}
            assert not {"src", "srcset", "action", "style"} & set(attrs)
            assert not [name for name in attrs if name.startswith("on")]
        (policy,) = [a["content"] for a in reader.all("meta") if "http-equiv" in a]
        own = {
            f"{tag}-src 'sha256-{digest(text)}'"
            for tag in ("style", "script")
            for text in re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        }
        assert {part.strip() for part in policy.split(";")} == {
            "default-src 'none'",
            "base-uri 'none'",
            "form-action 'none'",
            *own,
        }


def digest(text):
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@pytest.mark.slow
def test_names_do_not_act(files):
    shown = "test/</script><script>alert(1)</script><img src=x onerror=alert(2)> & \"'\\x1b[31m"
    table = Reader(files[f"benchmarks/{file_name('Samples')}.html"]).tables[0]
    assert any(row[1].startswith(shown) for row in table)
    for page in pages(files).values():
        assert len(Reader(page).all("script")) == 1
        assert not {"\x1b", "\u202e"} & set(page)
    assert "javascript:" in "".join(pages(files).values())  # as text
    assert 'href="javascript:' not in "".join(pages(files).values())


@pytest.mark.parametrize(
    "name", ["../../x", "/etc/passwd", "..", ".", "", "con", "a\x00b", "é" * 400, "x" * 400, "a b%"]
)
def test_file_names_are_safe(name):
    assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9.-]{0,80}", file_name(name))


def test_file_names_tell_names_apart():
    names = ["a/b", "a-b", "A/b", "a//b", "a b", "a\u202eb", "a\ud800b"]
    assert len({file_name(name).lower() for name in names}) == len(names)
    assert file_name("a/b").startswith("a-b-")


@pytest.mark.slow
def test_numbers_are_those_of_the_result_files(folder, files):
    """Read anew with json: each headline stands in the table, and with all digits in the files."""
    head, *rows = Reader(files[f"benchmarks/{file_name('Samples')}.html"]).tables[0]
    columns = {name.split(".sample")[0]: i for i, name in enumerate(head)}
    listed = list(csv.DictReader(io.StringIO(files["data/scores.csv"])))
    stored = json.loads(files["data/scores.json"])
    assert len(listed) == len(stored) == 7
    checked = 0
    for path in (folder / "results").rglob("*.sample.json"):
        result = json.loads(path.read_text())
        model = json.loads((path.parent / "model_meta.json").read_text())["name"]
        scores = [entry["main_score"] for entry in result["scores"]["test"]]
        value, name = sum(scores) / len(scores), result["task_name"]
        (row,) = [row for row in rows if row[1][:9] == model[:9]]
        cell = row[columns[name.removesuffix(".sample")]]
        assert cell.startswith(f"{value:.4f}")
        for table in (listed, stored):
            (found,) = [r for r in table if r["task"] == name and r["model"][:9] == model[:9]]
            assert float(found["value"]) == pytest.approx(value, abs=1e-14)
        low = "headline_ci95_low" if len(scores) > 1 else "ci95_low"
        (low,) = [entry[low] for entry in result["scores"]["test"] if low in entry]
        assert f"{low:.3f} to " in cell
        assert float(found["low"]) == pytest.approx(low, abs=1e-14)
        checked += 1
    assert checked == 7


@pytest.mark.slow
def test_what_is_missing_is_a_dash_and_has_no_rank(files):
    rows = Reader(files[f"benchmarks/{file_name('Samples')}.html"]).tables[0][1:]
    (row,) = [row for row in rows if row[1] == "test/incomplete"]
    assert row == rows[-1]
    assert (row[0], row[2]) == ("—", "—")
    assert sorted(row[0] for row in rows[:-1])[0] == "1"
    assert "—" not in {cell for row in rows[:-1] for cell in row}


@pytest.mark.slow
def test_the_size_of_each_test_set_is_stated(files):
    """That of pairs comes from the comparison: result files of samples do not hold it."""
    page = files[f"benchmarks/{file_name('Samples')}.html"]
    head = Reader(page).tables[0][0]
    assert [name.split(".sample")[1] for name in head[2:4]] == [
        "mean Pearson's r48 pairs",
        "MAP10 queries",
    ]


@pytest.mark.slow
def test_letters_and_tie_ranges_are_those_of_the_comparison(board, files):
    table = Reader(files[f"tasks/{file_name('WikiQA.sample')}.html"]).tables[0]
    compared = board.page.compared["WikiQA.sample"].scores.query("headline")
    letters = dict(zip(compared["run"].str[:9], compared["letters"], strict=True))
    rows = [row for row in table[1:] if row[0]]  # the last one is the axis
    assert {row[0][:9]: row[1].split()[1] for row in rows} == letters
    ties = board.page.ties.query("main")
    ranges = {
        row.run[:9]: f"{row.worst:.4f} to {row.best:.4f}"
        for row in ties[ties["task"] == "WikiQA.sample"].itertuples()
    }
    assert {row[0][:9]: row[4] for row in rows} == ranges


@pytest.mark.slow
def test_the_range_goes_from_worst_to_best_and_the_significantly_best_is_bold(board):
    rows = board.scores
    ties = rows["tied"].notna()
    given = rows.assign(
        worst_order=np.where(ties, 0.25, np.nan),
        best_order=np.where(ties, 0.75, np.nan),
        best=rows["run"] == "test/one",
    )
    page = site_files(replace(board, scores=given), "1")[f"tasks/{file_name('WikiQA.sample')}.html"]
    shown = [row for row in Reader(page).tables[0][1:] if row[0]]
    assert {row[4] for row in shown} == {"0.2500 to 0.7500"}
    (value,) = rows[(rows["run"] == "test/one") & ties]["value"]
    assert re.findall("<b>(.*?)</b>", page) == [f"{value:.4f}"]


@pytest.mark.slow
def test_samples_say_that_they_are_none(files):
    assert "these numbers mean nothing" in files[f"benchmarks/{file_name('Samples')}.html"]
    for task in SAMPLES:
        assert "these numbers mean nothing" in files[f"tasks/{file_name(task)}.html"]


def test_a_task_states_its_protocol_and_stands_beside_published_numbers(tmp_path):
    write_result(tmp_path, "STS17SemEval", {"test": [sts(track, 0.5) for track in TRACKS]})
    write_wikiqa(tmp_path, "test/model", 0.5)
    files = site_files(board_of(tmp_path), "1")
    page = files[f"tasks/{file_name('STS17SemEval')}.html"]
    text = html.unescape(page)
    assert "SemEval-2017 Task 1, section 6.2: Pearson by track, averaged over tracks 1 to 5" in text
    assert "1,500 pairs in 6 subsets" in text
    published = next(t for t in Reader(page).tables if t[0][0] == "System")
    assert published[1][:3] == ["ECNU", "0.7251", "mean-of-6"]
    assert (
        "@inproceedings{cer-etal-2017-semeval,"
        in files[f"data/tasks/{file_name('STS17SemEval')}/citation.bib"]
    )
    wikiqa = html.unescape(files[f"tasks/{file_name('WikiQA')}.html"])
    assert "TANDA RoBERTa-Large (ambiguous)" in wikiqa
    assert "at least one relevant candidate" in wikiqa


@pytest.mark.slow
def test_citations_and_comparisons_can_be_downloaded(board, files):
    place = f"data/tasks/{file_name('WikiQA.sample')}"
    assert files[f"{place}/citation.bib"].startswith("@")
    pairs = list(csv.DictReader(io.StringIO(files[f"{place}/differences.csv"])))
    assert len(pairs) == len(board.page.compared["WikiQA.sample"].pairs)
    assert set(json.loads(files[f"{place}/comparison.json"])) >= {"scores", "pairs"}
    ranks = json.loads(files[f"data/benchmarks/{file_name('Samples')}/scores.json"])
    assert {row["rank"] for row in ranks if row["run"] == "test/incomplete"} == {None}
    assert {row["rank"] for row in ranks} >= {None, 1, 3}


@pytest.mark.slow
def test_the_same_results_give_the_same_bytes(folder, board, files):
    assert site_files(board_of(folder, board.verified), "1.2.3") == files


def test_a_model_of_several_revisions_has_one_page(tmp_path):
    write_wikiqa(tmp_path, "x/a", 0.5, revision="1")
    write_wikiqa(tmp_path, "x/a", 0.25, revision="2")
    board = board_of(tmp_path)
    assert ranking(board, "TANDA-AS2").runs == ["x/a, revision 1", "x/a, revision 2"]
    table = Reader(site_files(board, "1")[f"models/{file_name('x/a')}.html"]).tables[0]
    assert [row[-1] for row in table] == ["Run", "x/a, revision 1", "x/a, revision 2"]


@pytest.mark.parametrize(
    "meta",
    ["[]", '{"n_parameters": {"<b>": 1}}', '{"license": null, "languages": [1]}', "{", '"x"'],
)
def test_a_model_file_that_holds_anything_is_no_fault(tmp_path, meta):
    path = write_wikiqa(tmp_path, "x/a", 0.5).parent / "model_meta.json"
    path.write_text(meta)
    board = board_of(tmp_path)
    assert board.models == {"x/a": {}}
    assert site_files(board, "1")


def test_facts_of_a_model(tmp_path):
    path = write_wikiqa(tmp_path, "x/a", 0.5).parent / "model_meta.json"
    facts = {"n_parameters": 1_234_567, "languages": ["eng-Latn", "<i>"], "license": "mit"}
    path.write_text(json.dumps({"name": "x/a", "revision": "1", **facts}))
    page = site_files(board_of(tmp_path), "1")[f"models/{file_name('x/a')}.html"]
    assert "<dd>1,234,567</dd>" in page
    assert "<dd>eng-Latn, &lt;i&gt;</dd>" in page
    assert "<dd>mit</dd>" in page


# Where it is written.


def written(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_text("utf-8")
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_a_site_replaces_the_older_one(tmp_path):
    site = tmp_path / "a" / "site"
    write_site(site, {"index.html": "old", "x/gone.html": "x"})
    check_place(site, [])
    write_site(site, {"index.html": "new", "y/é.html": "y"})
    listing = written(site).pop(LISTING)
    assert {k: v for k, v in written(site).items() if k not in {LISTING, MARK}} == {
        "index.html": "new",
        "y/é.html": "y",
    }
    assert listing.splitlines()[0] == f"{hashlib.sha256(b'new').hexdigest()}  index.html"
    assert [path.name for path in site.parent.iterdir()] == ["site"]  # nothing is left behind
    done = subprocess.run(["sha256sum", "-c", LISTING], cwd=site, capture_output=True, check=True)
    assert done.stdout.count(b": OK") == 3


def test_a_site_that_cannot_be_written_leaves_the_older_one(tmp_path, monkeypatch):
    site = tmp_path / "site"
    write_site(site, {"index.html": "old"})
    before = written(site)
    write = Path.write_bytes

    def full(self, data):
        if self.name == "b.html":
            raise OSError(28, "No space left on device")
        return write(self, data)

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="No space left"):
        write_site(site, {"a.html": "new", "b.html": "new"})
    assert written(site) == before
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


def test_nothing_else_is_ever_replaced(tmp_path):
    site = tmp_path / "site"
    write_site(site, {"index.html": "x"})
    (site / "CNAME").write_text("example.org")
    with pytest.raises(DataError, match=r"CNAME is not part of a site that was written here"):
        check_place(site, [])
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "index.html").write_text("mine")
    with pytest.raises(DataError, match=r"index\.html is not part"):
        check_place(tmp_path / "thesis", [])
    (tmp_path / "empty").mkdir()
    check_place(tmp_path / "empty", [])
    check_place(tmp_path / "not" / "there", [])
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="is no folder"):
        check_place(tmp_path / "file", [])


@pytest.mark.parametrize("change", ["edited", "added", "folder", "link", "unmarked"])
def test_a_folder_that_is_not_all_of_an_older_site_is_kept(tmp_path, change):
    site = tmp_path / "site"
    write_site(site, {"index.html": "old"})
    if change == "edited":
        (site / "index.html").write_text("mine")
    elif change == "added":
        (site / "notes.txt").write_text("mine")
    elif change == "folder":
        (site / "mine").mkdir()
    elif change == "link":
        (site / "data").symlink_to(tmp_path)
    else:  # as releases and mirrors list their files
        (site / MARK).unlink()
        (site / LISTING).write_text(f"{hashlib.sha256(b'old').hexdigest()}  index.html\n")
    before = written(site)
    for attempt in (lambda: check_place(site, []), lambda: write_site(site, {"index.html": "new"})):
        with pytest.raises(DataError, match="not part of a site"):
            attempt()
    assert written(site) == before


def test_an_interrupt_between_the_renames_puts_the_older_site_back(tmp_path, monkeypatch):
    site = tmp_path / "site"
    write_site(site, {"index.html": "old"})
    before, rename = written(site), Path.rename

    def interrupted(self, target):
        if self.name == "new":
            raise KeyboardInterrupt
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_site(site, {"index.html": "new"})
    assert written(site) == before
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


def test_a_site_on_a_mount_point_is_written_into_it(tmp_path, monkeypatch):
    site, rename = tmp_path / "site", Path.rename
    write_site(site, {"index.html": "old", "gone.html": "x"})

    def busy(self, target):
        if self == site:
            raise OSError(errno.EBUSY, "Device or resource busy")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", busy)
    write_site(site, {"index.html": "new"})
    assert set(written(site)) == {"index.html", LISTING, MARK}
    assert (site / "index.html").read_text() == "new"
    write_site(site, {"index.html": "newer"})  # still known as a site


@pytest.mark.parametrize(("output", "results"), [("r/site", "r"), ("r", "r/results"), ("r", "r")])
def test_results_and_site_are_apart(tmp_path, output, results):
    with pytest.raises(DataError, match="lie in one another"):
        check_place(tmp_path / output, [tmp_path / results])


@pytest.fixture
def unverified(monkeypatch):
    monkeypatch.setattr("mteb_ext.verification.verifying.verify_results", lambda folders: NOTHING)


@pytest.mark.slow
def test_command_line_verifies_and_writes_the_site(folder, tmp_path, capsys):
    site = tmp_path / "site"
    assert main(["leaderboard", str(folder), "-o", str(site)]) == 0
    assert f"wrote {site / 'index.html'}" in capsys.readouterr().out
    first = written(site)
    verdicts = {(r["model"][:9], r["verdict"]) for r in json.loads(first["data/scores.json"])}
    assert verdicts == {
        *((f"test/{name}"[:9], "unverified") for name in ("one", "two", "incomplete")),
        ("test/</sc", "failed"),  # its name is not that of its folder
    }
    assert "on made-up sample rows" in first[f"models/{file_name('test/one')}.html"]
    assert main(["leaderboard", str(folder), "-o", str(site)]) == 0
    assert written(site) == first


def test_results_are_added_by_a_folder(tmp_path, unverified):
    write_wikiqa(tmp_path / "one", "x/a", 0.5)
    site = str(tmp_path / "site")
    assert main(["leaderboard", str(tmp_path / "one"), "-o", site]) == 0
    write_wikiqa(tmp_path / "two", "x/b", 0.75)
    folders = [str(tmp_path / name) for name in ("one", "two")]
    assert main(["leaderboard", *folders, "-o", site]) == 0
    page = (tmp_path / "site" / "benchmarks" / f"{file_name('TANDA-AS2')}.html").read_text("utf-8")
    assert [row[1] for row in Reader(page).tables[0][1:]] == ["x/b", "x/a"]


def test_command_line_names_what_is_missing(tmp_path, capsys, unverified):
    (tmp_path / "empty").mkdir()
    assert main(["leaderboard", str(tmp_path / "empty"), "-o", str(tmp_path / "site")]) == 1
    assert "no results here" in capsys.readouterr().err
    assert not (tmp_path / "site").exists()
    assert main(["leaderboard", str(tmp_path / "none"), "-o", str(tmp_path / "site")]) == 1
    assert "is not a folder" in capsys.readouterr().err


# What a browser makes of it.


@pytest.fixture(scope="module")
def tab(tmp_path_factory):
    if CHROMIUM is None:
        pytest.skip("needs Chromium")
    with chromium(tmp_path_factory.mktemp("profile")) as tab:
        yield tab


@pytest.fixture(scope="module")
def site(files, tmp_path_factory):
    place = tmp_path_factory.mktemp("written") / "site"
    write_site(place, files)
    return place


ROWS = "[...document.querySelectorAll('table.filterable tbody tr')]"
SHOWN = f"{ROWS}.filter(row => !row.hidden).map(row => row.cells[1].textContent.slice(0, 15))"
SORTED = "[...document.querySelectorAll('[aria-sort]')].map(e => [e.cellIndex, e.ariaSort])"
FOCUSED = "document.activeElement.textContent"


@pytest.mark.process
@pytest.mark.browser
def test_the_table_is_sorted_by_keyboard(tab, site, files):
    path = site / "benchmarks" / f"{file_name('Samples')}.html"
    tab.open(path)
    table = Reader(path.read_text("utf-8")).tables[0]
    assert tab.run(SORTED) == [[0, "ascending"]]
    assert tab.run(SHOWN) == [row[1][:15] for row in table[1:]]
    for _ in range(20):
        tab.press("Tab")
        if tab.run(FOCUSED).startswith("STS17SemEval.sample") and tab.run(
            "document.activeElement.tagName === 'BUTTON'"
        ):
            break
    (column,) = [i for i, name in enumerate(table[0]) if name.startswith("STS17SemEval")]
    scored = [row for row in table[1:] if row[column] != "—"]
    scored.sort(key=lambda row: -float(row[column].split()[0]))
    names = [row[1][:15] for row in scored]
    tab.press("Enter")
    assert tab.run(SORTED) == [[column, "descending"]]
    assert tab.run(SHOWN) == [*names, "test/incomplete"]
    assert tab.run(FOCUSED).startswith("STS17SemEval.sample")  # still there
    tab.press("Enter")
    assert tab.run(SORTED) == [[column, "ascending"]]
    assert tab.run(SHOWN) == [*names[::-1], "test/incomplete"]  # what is missing stays last


@pytest.mark.process
@pytest.mark.browser
def test_the_table_is_filtered_by_name_and_by_verdict(tab, site):
    tab.open(site / "benchmarks" / f"{file_name('Samples')}.html")
    tab.run("document.querySelector('input[type=search]').focus()")
    for key in "t t":
        tab.press(key)
    assert len(tab.run(SHOWN)) == 4
    for key in "wo":
        tab.press(key)
    assert tab.run(SHOWN) == ["test/two"]
    assert tab.run("document.querySelector('[role=status]').textContent") == "1 of 4 models"
    tab.press("Tab")
    tab.press(" ")
    assert tab.run(SHOWN) == []


@pytest.mark.process
@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 1280])
def test_no_page_overflows_fetches_or_complains(tab, site, width):
    for path in sorted(site.rglob("*.html")):
        tab.events.clear()
        tab.open(path, width=width)
        root = "document.documentElement"
        assert tab.run(f"{root}.scrollWidth <= {root}.clientWidth")
        assert tab.requests() == [path.as_uri()]
        assert tab.complaints() == []


def test_text_in_csv_is_no_formula():
    import pandas as pd

    from mteb_ext.pages.leaderboard import _tables

    found = dict(_tables("x", pd.DataFrame({"run": ["=cmd()"], "value": [-0.5]})))
    assert found["x.csv"] == "run,value\n'=cmd(),-0.5\n"
    assert json.loads(found["x.json"]) == [{"run": "=cmd()", "value": -0.5}]
