"""The report page: what it computes, what it shows, and that it is safe to open anywhere."""

from __future__ import annotations

import base64
import functools
import http.server
import json
import re
import shutil
import subprocess
import sys
import threading
import warnings
from dataclasses import replace
from html.parser import HTMLParser

import mteb
import numpy as np
import pandas as pd
import pytest
from conftest import ToyEncoder, spread, toy_meta
from datasets import Dataset
from markupsafe import escape
from mteb.abstasks.retrieval import AbsTaskRetrieval
from stock_tasks import StockSTS, metadata, write_predictions
from test_results import TRACKS, WIKIQA, sts, write_result

from mteb_ext import load_results
from mteb_ext.cli import main
from mteb_ext.errors import MtebExtError
from mteb_ext.pages.report.data import Scatter, page_data, rescale
from mteb_ext.tables.text import printable

pytestmark = pytest.mark.slow  # whole pages; what they compute is tested in test_comparing

EVIL = "test/</script><script>alert(1)</script><img src=x onerror=alert(2)> & \"'\x1b[31m\u202e"
SAMPLES = ("STS17SemEval.sample", "STSBenchmarkSemEval.sample", "WikiQA.sample")
VOID = {"wbr", "meta", "br", "img", "input", "link", "hr"}


def report_page(*arguments):
    pytest.importorskip("altair", reason="needs the extra report")
    pytest.importorskip("vl_convert", reason="needs the extra report")
    from mteb_ext.pages.report import report_page as page

    return page(*arguments)


def data_of(folder, **options):
    return page_data(load_results(folder), [folder], **options)


def rows_of(frame, *columns):
    return list(frame[list(columns)].itertuples(index=False, name=None))


# What is computed.


@pytest.mark.parametrize(
    ("scores", "scale", "expected"),
    [
        ([0.0, 0.25, 1.0], (0, 5), [0, 1.25, 5]),
        ([-2.0, 0.0, 2.0], (1, 5), [1, 3, 5]),
        ([300.0, 100.0, 200.0], (0, 4), [4, 0, 2]),
        ([-1.6e308, 1.6e308, 0.0], (0, 4), [0, 4, 2]),  # their difference is beyond float64
        ([5e-324, 0.0], (0, 4), [4, 0]),
    ],
)
def test_rescaling_brings_the_ends_to_those_of_the_scale(scores, scale, expected):
    assert rescale(np.array(scores), *scale).tolist() == expected


@pytest.fixture
def two_models(tmp_path, stock):
    """Two models' results and predictions of StockSTS, whose gold is 0, 1, 2, 5."""
    for model, scores in (("test/a", [0.1, 0.2, 0.9, 1.1]), ("test/b", [0.0, 0.2, 0.4, 1.0])):
        predictions = {"default": {"test": {"cosine_scores": scores}}}
        write_predictions(tmp_path / "p" / model[-1], "StockSTS", predictions, model=model)
        entry = {"hf_subset": "default", "cosine_spearman": 1.0, "main_score": 1.0}
        write_result(tmp_path / "r", "StockSTS", {"test": [entry]}, model=model)
    return tmp_path


def test_share_within_one_point_of_gold(two_models):
    """a becomes 0, 0.5, 4, 5 and b 0, 1, 2, 5."""
    data = data_of(two_models)
    assert rows_of(data.rescaled, "run", "n", "bottom", "top", "within") == [
        ("test/a", 4, 0.0, 5.0, 0.75),
        ("test/b", 4, 0.0, 5.0, 1.0),
    ]
    (scatter,) = data.scatters
    assert scatter.gold.tolist() == [0, 1, 2, 5]
    assert scatter.scores["test/a"].tolist() == [0.1, 0.2, 0.9, 1.1]
    assert data.remarks == []


@pytest.mark.parametrize(
    ("scores", "scatters"),
    [([0.5] * 4, 0), ([-1.7e308, 1.7e308, 0.0, 1e308], 1), ([5e-324, 0.0, 0.0, 0.0], 1)],
)
def test_scores_without_spread_or_at_the_end_of_all_floats(two_models, scores, scatters):
    pytest.importorskip("altair", reason="needs the extra report")
    from mteb_ext.pages.report.sections import packed

    path = two_models / "p" / "a" / "StockSTS_predictions.json"
    held = json.loads(path.read_text())
    path.write_text(json.dumps({**held, "default": {"test": {"cosine_scores": scores}}}))
    with warnings.catch_warnings(action="error", category=RuntimeWarning):
        data = data_of(two_models)
        shown = packed(np.array(scores))
    assert len(data.scatters) == scatters  # without a correlation there is nothing to draw
    codes = np.frombuffer(base64.b64decode(shown["codes"]), "<u2")
    assert codes.max() == (65535 if scatters else 0)
    assert codes.min() == 0


def test_exactly_one_point_is_within(two_models, monkeypatch):
    monkeypatch.setattr(StockSTS, "max_score", 4)
    path = two_models / "p" / "a" / "StockSTS_predictions.json"
    scores = {"default": {"test": {"cosine_scores": [0.0, 0.5, 0.75, 1.0]}}}
    write_predictions(path.parent, "StockSTS", scores)
    monkeypatch.setattr(StockSTS, "load_data", load_to_four)
    assert data_of(two_models).rescaled["within"].tolist()[0] == 1.0  # 0, 2, 3, 4 for 0, 1, 2, 4


def load_to_four(self, **kwargs):
    pairs = {"sentence1": list("abcd"), "sentence2": list("efgh"), "score": [0, 1, 2, 4]}
    self.dataset = {"test": Dataset.from_dict(pairs)}
    self.data_loaded = True


def test_gold_off_the_scale_has_no_share(two_models, monkeypatch):
    monkeypatch.setattr(StockSTS, "max_score", 4)
    data = data_of(two_models)
    assert data.rescaled.empty
    assert len(data.scatters) == 1


QRELS = {"q1": {"d1": 1, "d2": 0}, "q2": {"d1": 0, "d2": 1}, "q3": {"d1": 1, "d2": 0}}


class Ranked(AbsTaskRetrieval):
    """Three queries with two candidates each."""

    metadata = metadata("Ranked", "Reranking", "map_at_1000")

    def load_data(self, **kwargs):
        texts = {"id": list(QRELS), "text": [f"text of {query}" for query in QRELS]}
        split = {
            "corpus": Dataset.from_dict({"id": ["d1", "d2"], "text": ["one", "two"]}),
            "queries": Dataset.from_dict(texts),
            "relevant_docs": QRELS,
            "top_ranked": {query: ["d1", "d2"] for query in QRELS},
        }
        self.dataset = {"default": {"test": split}}
        self.data_loaded = True


@pytest.fixture
def ranked(tmp_path, stock, monkeypatch):
    """Two models' predictions of Ranked: AP 1, 0.5, 1 and 0.5, 1, 1; their result files say so."""
    registry = vars(sys.modules["mteb.get_tasks"])["_TASKS_REGISTRY"]
    monkeypatch.setitem(registry, "Ranked", Ranked)
    first, second = {"d1": 0.9, "d2": 0.1}, {"d1": 0.1, "d2": 0.9}
    runs = {"a": (first, first, first), "b": (second, second, first)}
    for name, (q1, q2, q3) in runs.items():
        predictions = {"default": {"test": {"q1": q1, "q2": q2, "q3": q3}}}
        write_predictions(tmp_path / "p" / name, "Ranked", predictions, model=f"test/{name}")
        entry = {"hf_subset": "default", "main_score": 2.5 / 3, "map_at_1000": 2.5 / 3}
        write_result(tmp_path / "r", "Ranked", {"test": [entry]}, model=f"test/{name}")
    return tmp_path


def test_distribution_over_queries(ranked):
    found = data_of(ranked).distribution.query("queries > 0 and run == 'test/a'")
    assert rows_of(found.round(2), "low", "high", "queries", "of", "mean") == [
        (0.5, 0.55, 1, 3, 0.83),
        (0.95, 1.0, 2, 3, 0.83),
    ]


def test_queries_on_which_models_differ(ranked):
    """The third query is left out: both score 1 there."""
    assert rows_of(data_of(ranked).differing, "query", "run", "value", "spread", "text") == [
        ("q1", "test/a", 1.0, 0.5, ""),
        ("q1", "test/b", 0.5, 0.5, ""),
        ("q2", "test/a", 0.5, 0.5, ""),
        ("q2", "test/b", 1.0, 0.5, ""),
    ]


def test_texts_only_where_they_are_wanted_and_public(ranked, two_models, monkeypatch):
    data = data_of(ranked, texts=True)
    assert set(data.differing["text"]) == {"text of q1", "text of q2"}
    assert data.scatters[0].texts == ["a | e", "b | f", "c | g", "d | h"]
    assert data_of(ranked).scatters[0].texts == ()
    for task in (Ranked, StockSTS):
        private = task.metadata.model_copy(update={"is_public": False})
        monkeypatch.setattr(task, "metadata", private)
    data = data_of(ranked, texts=True)
    assert set(data.differing["text"]) == {""}
    assert data.scatters[0].texts == ()


def test_qabot_is_not_public():
    assert not mteb.get_task("QABot").metadata.is_public


def test_published_lines_are_of_the_headlines_variant(tmp_path):
    write_result(tmp_path, "WikiQA", {"test": [WIKIQA]})
    write_result(tmp_path, "STS17SemEval", {"test": [sts(track, 0.5) for track in TRACKS]})
    published = data_of(tmp_path).published
    variants = published.groupby("task")["variant"].agg(set).to_dict()
    assert variants == {"STS17SemEval": {"mean-of-6"}, "WikiQA": {"no-all-negative-243"}}
    ambiguous = published.groupby("task")["ambiguous"].agg(list)
    assert set(ambiguous["STS17SemEval"]) == {False}
    assert set(ambiguous["WikiQA"]) == {True}
    assert published[published["task"] == "STS17SemEval"]["value"].is_monotonic_decreasing


def test_a_mean_over_fewer_tracks_has_no_published_line(tmp_path):
    write_result(tmp_path, "STS17SemEval", {"test": [sts(track, 0.5) for track in TRACKS[:3]]})
    assert data_of(tmp_path).published.empty


def test_breakdown_by_subset_and_by_genre(tmp_path):
    write_result(
        tmp_path,
        "STS17SemEval",
        {
            "test": [
                sts(t, i / 10, spearman=0.9, ci95_low=-0.5, ci95_high=0.5)
                for i, t in enumerate(TRACKS[:2])
            ]
        },
    )
    genres = {"pearson_news": 0.25, "pearson_forums": 0.5, "spearman": 0.75}
    write_result(tmp_path, "STSBenchmarkSemEval", {"test": [sts("default", 0.3, **genres)]})
    write_result(tmp_path, "WikiQA", {"test": [WIKIQA]})
    breakdown = data_of(tmp_path).breakdown
    assert rows_of(breakdown.dropna(subset="low"), "part", "low", "high") == [
        ("1-ar-ar", -0.5, 0.5),
        ("2-ar-en", -0.5, 0.5),
    ]
    assert rows_of(breakdown, "task", "part", "value") == [
        ("STS17SemEval", "1-ar-ar", 0.0),
        ("STS17SemEval", "2-ar-en", 0.1),
        ("STSBenchmarkSemEval", "forums", 0.5),
        ("STSBenchmarkSemEval", "news", 0.25),
    ]


def test_without_predictions_the_remarks_say_so(tmp_path):
    write_result(tmp_path, "WikiQA", {"test": [WIKIQA]})
    data = data_of(tmp_path)
    assert "no prediction files here" in data.remarks[0]
    assert (data.compared, data.scatters) == ({}, [])
    page = report_page(data, "command", "1")
    assert escape(data.remarks[0]) in page


def test_predictions_on_another_edition_are_left_out(tmp_path):
    entry = [sts("default", 0.5)]
    write_result(tmp_path, "STSBenchmarkSemEval.sample", {"test": entry})
    scores = {"default": {"test": {"cosine_scores": [0.5]}}}
    write_predictions(tmp_path, "STSBenchmarkSemEval.sample", scores, data="another")
    data = data_of(tmp_path)
    assert "revision another" in data.remarks[0]
    assert data.scatters == []


def test_predictions_of_another_run_than_the_result_are_named(ranked):
    write_result(
        ranked / "r",
        "Ranked",
        {"test": [{"hf_subset": "default", "main_score": 0.75}]},
        model="test/b",
    )
    (remark,) = data_of(ranked).remarks
    assert "test/b give 0.833333, and its result file holds 0.750000" in remark


# What is shown.


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Three models on three samples; one's name is made to break the page."""
    place = tmp_path_factory.mktemp("page")
    for name, seed in (("test/one", 1), ("test/two", 2), ("test/evil", 3)):
        model = ToyEncoder(functools.partial(seeded, seed))
        model.mteb_model_meta = toy_meta(name)
        mteb.evaluate(
            model,
            mteb.get_tasks(tasks=list(SAMPLES)),
            cache=mteb.ResultCache(place / "results"),
            prediction_folder=place / name.replace("/", "-"),
            encode_kwargs={"show_progress_bar": False},
        )
    for path in place.rglob("*.json"):
        path.write_text(path.read_text().replace('"test/evil"', json.dumps(EVIL)))
    return place


def seeded(seed, text):
    return spread(f"{text[:6]} {seed}") + spread(text) / seed


@pytest.fixture(scope="module")
def data(folder):
    return data_of(folder)


@pytest.fixture(scope="module")
def page(data):
    return report_page(data, "mteb-ext report <here> -o page.html", "1.2.3")


@pytest.fixture
def charts():
    pytest.importorskip("altair", reason="needs the extra report")
    from mteb_ext.pages.report import charts

    return charts


def embedded(page):
    """The data of the page's charts."""
    (text,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page)
    return json.loads(text)


class Reader(HTMLParser):
    """The elements of a page, without what its scripts hold; an end tag must fit its start."""

    def __init__(self, page):
        super().__init__()
        self.open, self.elements, self.tables = [], [], []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])
        if tag in {"td", "th"}:
            self.tables[-1][-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, text):
        if self.tables and self.tables[-1] and {"td", "th"} & set(self.open):
            self.tables[-1][-1][-1] += text

    def all(self, tag):
        return [attrs for name, attrs in self.elements if name == tag]


def test_page_is_whole_and_named(page):
    reader = Reader(page)
    assert "<title>Results of 3 models on 3 tasks</title>" in page
    assert "mteb-ext report &lt;here&gt; -o page.html" in page
    ids = [attrs["id"] for _, attrs in reader.elements if "id" in attrs]
    assert len(ids) == len(set(ids))
    targets = [attrs["href"] for attrs in reader.all("a")]
    assert {target.removeprefix("#") for target in targets} <= set(ids)


def test_nothing_in_the_page_can_be_fetched(page):
    reader = Reader(page)
    for tag, attrs in reader.elements:
        assert tag not in {"img", "iframe", "object", "embed", "base"}
        for name in ("src", "srcset", "data", "action", "poster"):
            assert name not in attrs
        assert attrs.get("href", "#").startswith(("#", "data:"))
    (policy,) = [a["content"] for a in reader.all("meta") if "http-equiv" in a]
    assert policy.startswith("default-src 'none';")
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    assert "url(" not in style
    assert "@import" not in style
    assert "http" not in json.dumps(embedded(page))


def test_names_do_not_act(page):
    reader = Reader(page)
    assert not [attrs for _, attrs in reader.elements if "onerror" in attrs]
    assert len(reader.all("script")) == 3
    assert "\x1b" not in page
    assert "\u202e" not in page
    shown = "test/</script><script>alert(1)</script><img src=x onerror=alert(2)> & \"'\\x1b[31m"
    assert escape(shown) in page
    assert any(shown in cell for table in reader.tables for row in table for cell in row)
    assert any(run.startswith(shown) for run in embedded(page)["runs"])


def test_every_chart_has_a_text_and_every_table_a_caption_and_headers(page):
    reader = Reader(page)
    charts = [a for a in reader.all("div") if a.get("class") == "chart"]
    assert len(charts) == len(reader.all("figure")) == 19
    assert all(chart["aria-label"] and chart["role"] == "group" for chart in charts)
    assert all(spec["description"] for spec in embedded(page)["charts"].values())
    assert len(reader.all("table")) == len(reader.all("caption"))
    assert {a.get("scope") for a in reader.all("th")} == {"col", "row"}
    scrolled = [a for a in reader.all("div") if a.get("class") == "scroll"]
    assert all(a["tabindex"] == "0" and "aria-label" in a for a in scrolled)
    figures = {a.get("data-chart") or a.get("data-scatter") for a in reader.all("figure")}
    assert figures == {*embedded(page)["charts"], *embedded(page)["scatters"]}


def test_numbers_are_those_of_the_result_files(folder, page):
    """Read anew with json: each headline stands in a chart with all digits, and in the table."""
    reader, charts = Reader(page), json.dumps(embedded(page)["charts"])
    (head, *rows), cells = reader.tables[0], {}
    for row in rows:
        for column, cell in zip(head[1:], row[1:], strict=True):
            cells[row[0], column] = cell
    assert len(rows) == 3
    checked = 0
    for path in (folder / "results").rglob("*.sample.json"):
        result = json.loads(path.read_text())
        model = json.loads((path.parent / "model_meta.json").read_text())["name"]
        scores = [entry["main_score"] for entry in result["scores"]["test"]]
        value = sum(scores) / len(scores)
        (cell,) = [
            cell
            for (run, column), cell in cells.items()
            if column.startswith(result["task_name"]) and run[:12] == model[:12]
        ]
        assert cell.split()[0] == f"{value:.4f}"
        low = "headline_ci95_low" if len(scores) > 1 else "ci95_low"
        (low,) = [entry[low] for entry in result["scores"]["test"] if low in entry]
        assert json.dumps(low) in charts
        found = [float(v) for v in re.findall(r'"value": (-?[\d.e-]+)', charts)]
        assert min(abs(v - value) for v in found) < 1e-15
        checked += 1
    assert checked == 9


def test_letters_of_the_comparison_stand_beside_the_headlines(data, page):
    head, *rows = Reader(page).tables[0]
    for task in SAMPLES:
        scores = data.compared[task].scores.query("headline")
        letters = dict(zip(scores["run"].map(printable), scores["letters"], strict=True))
        (column,) = [i for i, name in enumerate(head) if name.startswith(task)]
        assert {row[0]: row[column].split()[1] for row in rows} == letters


def test_models_stand_by_their_scores_and_the_best_are_marked(data, page):
    rows = Reader(page).tables[0][1:]
    held = data.headlines.assign(run=data.headlines["run"].map(printable))
    kind = ["task", "split", "dataset_revision", "metric", "subsets"]
    values = held.pivot(index="run", columns=kind, values="value")
    names = [row[0] for row in rows]
    assert sorted(names) == sorted(values.index)
    lacking = values.isna().sum(axis=1).loc[names]
    assert lacking.is_monotonic_increasing
    standing = values.rank(pct=True).mean(axis=1).loc[names]
    assert standing[lacking == 0].is_monotonic_decreasing
    highest = re.findall(r'<span class="highest">(?:<b>)?([-\d.]+)', page)
    assert sorted(highest) == sorted(f"{value:.4f}" for value in values.max())


def test_what_models_get_wrong_is_folded_away(data, page):
    assert set(data.wrong) == set(SAMPLES)
    for wrong in data.wrong.values():
        shown = pd.concat([wrong.pairs["run"], wrong.queries["run"]]).value_counts()
        assert set(shown) == {5}
        for run in shown.index:
            assert f"<summary>What {escape(printable(run))} gets wrong</summary>" in page


def test_strips_show_the_share_of_queries(ranked, charts):
    cells = cells_of(charts.distribution(data_of(ranked).distribution, "x"))
    shares = {(c["run"], c["range"]): c["share"] for c in cells if c.get("queries")}
    assert shares["test/a", "0.50 to 0.55"] == 1 / 3
    assert shares["test/a", "0.95 to 1.00"] == 2 / 3


def test_packed_scores_are_those_of_the_prediction_files(folder, page):
    held = embedded(page)
    path = folder / "test-one" / "STSBenchmarkSemEval.sample_predictions.json"
    scores = np.array(json.loads(path.read_text())["default"]["test"]["cosine_scores"])
    (scatter,) = [s for s in held["scatters"].values() if "Benchmark" in s["name"]]
    packed = scatter["scores"][str(held["runs"].index("test/one"))]
    codes = np.frombuffer(base64.b64decode(packed["codes"]), "<u2")
    found = packed["low"] + (packed["high"] - packed["low"]) * codes / 65535
    np.testing.assert_allclose(found, scores, rtol=0, atol=np.ptp(scores) / 65535)
    assert (packed["low"], packed["high"]) == (scores.min(), scores.max())
    assert scatter["texts"] == []
    assert scatter["scale"] == [0, 5]


def test_matrix_shows_the_significant_differences(data, page):
    pairs = data.compared["WikiQA.sample"].pairs
    assert len(pairs) == 3
    specs = embedded(page)["charts"].values()
    (spec,) = [s for s in specs if s["description"].startswith("Significance matrix of WikiQA")]
    cells = [cell for rows in spec["datasets"].values() for cell in rows]
    assert len(cells) == 6
    order = list(data.compared["WikiQA.sample"].scores["run"])
    for row in pairs.itertuples():
        place = order.index(row.first) + 1, order.index(row.second) + 1
        (cell,) = [c for c in cells if (c["row"], c["column"]) == place]
        (mirror,) = [c for c in cells if (c["column"], c["row"]) == place]
        assert cell["difference"] == row.difference == -mirror["difference"]
        assert cell["p"] == row.p_adjusted
        outcome = "better" if row.significant else "not significant"
        assert cell["outcome"] == outcome


def test_a_significant_difference_has_a_sign_and_another_none(ranked, charts):
    frame = data_of(ranked).compared["Ranked"].pairs
    pairs = frame.assign(significant=True, difference=0.25)
    order = ["test/a", "test/b"]
    assert {c["text"] for c in cells_of(charts.matrix(order, pairs, "x"))} == {
        "+0.250",
        "\N{MINUS SIGN}0.250",
    }
    for n_models, shown in ((7, "+.250"), (12, "+.250"), (13, "+")):
        more = [*order, *(f"test/{i}" for i in range(n_models - 2))]
        assert shown in {c["text"] for c in cells_of(charts.matrix(more, pairs, "x"))}
    pairs = frame.assign(significant=False)
    assert {c["text"] for c in cells_of(charts.matrix(order, pairs, "x"))} == {"n.s."}


def cells_of(spec):
    return [cell for rows in spec["datasets"].values() for cell in rows]


def test_published_numbers_stand_in_the_forest(tmp_path):
    write_result(tmp_path, "WikiQA", {"test": [WIKIQA]})
    write_result(tmp_path, "STS17SemEval", {"test": [sts(track, 0.5) for track in TRACKS]})
    page = report_page(data_of(tmp_path), "command", "1")
    specs = list(embedded(page)["charts"].values())
    sts17, wikiqa = (cells_of(spec) for spec in specs[:2])
    assert {cell["best"] for cell in sts17 if "best" in cell} == {0.7251}
    assert [c["ambiguous"] for c in wikiqa if "best" in c] == [True]
    (name,) = [c["name"] for c in wikiqa if "best" in c]
    assert name.startswith("0.920 best published (1 ambiguous): TANDA")


def test_an_interval_that_begins_at_zero_is_shown(tmp_path):
    entry = sts("default", 0.25, ci95_low=0.0, ci95_high=0.5)
    write_result(tmp_path, "STSBenchmarkSemEval", {"test": [entry]})
    (forest,) = embedded(report_page(data_of(tmp_path), "", "1"))["charts"].values()
    assert {(c["low"], c["interval"]) for c in cells_of(forest) if "interval" in c} == {
        (0.0, "0.000 to 0.500")
    }
    assert all(forest["datasets"].values())


def test_a_headline_without_an_interval_has_no_line(tmp_path):
    write_result(tmp_path, "STSBenchmarkSemEval", {"test": [sts("default", 0.25)]})
    (forest,) = embedded(report_page(data_of(tmp_path), "", "1"))["charts"].values()
    assert not all(forest["datasets"].values())
    assert {c["interval"] for c in cells_of(forest) if "interval" in c} == {""}


def test_scatter_plots_begin_with_the_best_model(data, page):
    held, options = embedded(page), [a["value"] for a in Reader(page).all("option")]
    first, second = options[:3], options[3:]
    for task, values in zip(SAMPLES[:2], (first, second), strict=True):
        order = data.headlines[data.headlines["task"] == task]["run"].map(printable)
        assert [held["runs"][int(value)] for value in values] == list(order)
    assert first != sorted(first) or second != sorted(second)


def test_results_of_tasks_that_are_not_known_here_are_shown(tmp_path):
    scores = {"test": [sts("a", 0.25), sts("b", 0.75)]}
    write_result(tmp_path, "NotHere", scores, data="1")
    page = report_page(data_of(tmp_path), "command", "1")
    (_, row), *_ = Reader(page).tables
    assert row[1].strip() == "0.5000"


def test_the_same_data_give_the_same_bytes(folder, page):
    again = report_page(data_of(folder), "mteb-ext report <here> -o page.html", "1.2.3")
    assert again == page


def test_ten_models_on_all_tasks_stay_under_three_megabytes(data):
    counts = {"JACSTS": [3670], "STS17SemEval": [250] * 6, "STS17SemEvalTurkish": [250]}
    counts |= {"STSBenchmarkSemEval": [1379], "WMT17Metrics": [560] * 7}
    counts |= {"WMT17MetricsQE": [560] * 7}
    rng = np.random.default_rng(0)
    runs = [f"test/a-rather-long-name-of-a-model-{i}" for i in range(10)]
    scatters = [
        Scatter(task, "test", str(i), rng.random(n), {run: rng.random(n) for run in runs})
        for task, sizes in counts.items()
        for i, n in enumerate(sizes)
    ]
    rows = data.headlines.iloc[:1]
    many = rows.loc[rows.index.repeat(len(counts))].assign(task=list(counts))
    page = report_page(replace(data, scatters=scatters, headlines=many), "command", "1")
    assert page.count("data-scatter=") == len(scatters)
    assert len(page.encode()) < 2_000_000  # the other charts of ten models take less than 1 MB


def test_texts_stand_in_the_page_only_if_asked_for(ranked):
    page = report_page(data_of(ranked, texts=True), "command", "1")
    assert "text of q1" in page
    assert "text of q1" not in report_page(data_of(ranked), "command", "1")


def test_missing_extra(data, monkeypatch):
    from mteb_ext.pages.report import report_page as page

    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(MtebExtError, match=r"needs altair: pip install 'mteb-ext\[report\]'"):
        page(data, "command", "1")


def test_command_line_writes_the_page(folder, tmp_path, capsys):
    pytest.importorskip("vl_convert", reason="needs the extra report")
    output = tmp_path / "a page.html"
    assert main(["report", str(folder), "-o", str(output)]) == 0
    assert "wrote" in capsys.readouterr().out
    page = output.read_text("utf-8")
    assert escape(f"mteb-ext report {folder} -o '{output}'") in page
    assert not any(scatter["texts"] for scatter in embedded(page)["scatters"].values())
    assert main(["report", str(folder), "--texts", "-o", str(output)]) == 0
    page = output.read_text("utf-8")
    assert escape(f"mteb-ext report {folder} --texts -o '{output}'") in page
    assert all(scatter["texts"] for scatter in embedded(page)["scatters"].values())


# What a browser makes of it.


CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--enable-logging=stderr"),
    *("--virtual-time-budget=30000", "--dump-dom"),
)


@pytest.mark.process
@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
@pytest.mark.parametrize(("width", "event"), [(390, "beforeprint"), (1200, "none")])
def test_chromium_draws_every_chart_and_fetches_nothing(page, tmp_path, width, event):
    """Printing draws every chart at once; otherwise they follow, far from the window too."""
    before, after = page.rsplit("</body>", 1)
    measure = f"""
        document.body.style.width = "{width}px";
        document.body.style.margin = 0;
        dispatchEvent(new Event("{event}"));
        const standsOut = (element) =>
          !element.closest(".scroll, .skip, details, #vg-tooltip-element") &&
          element.getBoundingClientRect().right > {width};
        const count = () => [...document.querySelectorAll("body *:not(svg *)")].filter(standsOut);
        setTimeout(() => {{ document.title = count().length }}, 20000);"""
    (tmp_path / "page.html").write_text(f"{before}<script>{measure}</script></body>{after}")
    asked = []

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, format, *args):
            asked.append(self.path)

    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Handler, directory=tmp_path)
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}/page.html"
    size = "--window-size=1400,900"
    profile = f"--user-data-dir={tmp_path / 'profile'}"
    done = subprocess.run(
        [CHROMIUM, *FLAGS, size, profile, address],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    server.shutdown()
    assert "CONSOLE" not in done.stderr
    assert asked == ["/page.html"]
    drawn = re.findall(r'<svg [^>]*class="marks"|<canvas ', done.stdout)
    assert len(drawn) == page.count("<figure")
    assert re.findall(r"<title>(.*?)</title>", done.stdout) == ["0"]  # elements that stand out
