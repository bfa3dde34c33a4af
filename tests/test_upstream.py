"""scripts/upstream.py: what it writes, what it refuses, and that a stock mteb gives our scores."""

from __future__ import annotations

import json
from pathlib import Path

import datasets
import mteb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import spread, toy_meta
from huggingface_hub import DatasetCard
from mteb.models.abs_encoder import AbsEncoder

from mteb_ext import ProtocolError
from mteb_ext.bases import PaperRanking, PaperSTS
from mteb_ext.data.records import Pairs, Question
from mteb_ext.errors import MtebExtError
from mteb_ext.plugin.lookup import paper_task
from mteb_ext.protocol import (
    CorrelationProtocol,
    PairFacts,
    QuestionFacts,
    QuestionFilter,
    QuestionSet,
    RankingProtocol,
)

SCRIPTS = Path(__file__).parents[1] / "scripts"
LANGUAGES = {"de-en": ["deu-Latn", "eng-Latn"], "fr-en": ["fra-Latn", "eng-Latn"]}


def metadata_of(task, **changes):
    return paper_task(task).metadata.model_copy(update={"license": "cc-by-4.0", **changes})


class TwoLanguages(PaperSTS):
    metadata = metadata_of("STS17SemEval", name="TwoLanguages", eval_langs=LANGUAGES)
    protocol = CorrelationProtocol(
        "pearson", "made up", {"test": {pair: PairFacts(3) for pair in LANGUAGES}}
    )

    @classmethod
    def read(cls, source, split, subset):
        return Pairs(
            ["ein Haus", " zwei ", "drei"],
            ["a house", "three", "drei"],
            [-1.5, 0.25, 2.5] if subset == "de-en" else [0.5, 0.25, 0.75],
            genre=["g", "g", "h"],
        )


class Answers(PaperRanking):
    """Of four questions one is without an answer, and one without a wrong candidate."""

    metadata = metadata_of("WikiQA", name="Answers")
    protocol = RankingProtocol(
        "map",
        "made up",
        {"test": QuestionFacts(questions=4, rows=7, relevant=4)},
        keep=QuestionFilter.BOTH,
        also=QuestionSet("raw", QuestionFilter.WITH_CANDIDATES),
    )

    @classmethod
    def read(cls, source, split, subset):
        return [
            Question("q1", "who?", ["a", "b"], ["he", "she"], [1, 0]),
            Question("q2", "where?", ["c"], ["here"], [1]),
            Question("q3", "when?", ["d"], ["now"], [0]),
            Question("q4", "what?", ["a", "e", "f"], ["he", "it", "this"], [0, 1, 1]),
        ]


class Encoder(AbsEncoder):
    """Embeddings that depend on the text alone, with mteb's own similarities."""

    def __init__(self):
        self.mteb_model_meta = toy_meta()

    def encode(self, inputs, *, task_metadata, hf_split, hf_subset, prompt_type=None, **kwargs):
        return np.array([spread(text) for batch in inputs for text in batch["text"]])


@pytest.fixture
def upstream(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(SCRIPTS)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    import upstream

    return upstream


def stock_of(folder):
    from upstream_check import stock_task

    return stock_task(folder)


def rows(file):
    return pq.read_table(file).to_pylist()


def scores(model, task):
    [result] = mteb.evaluate(model, task, cache=None, show_progress_bar=False)
    return result.scores


def test_pairs(upstream, tmp_path):
    upstream.write(TwoLanguages, tmp_path / "out", "Ask first.")
    dataset = tmp_path / "out" / "dataset"
    assert sorted(str(file.relative_to(dataset)) for file in dataset.rglob("*.*")) == [
        "README.md",
        "de-en/test-00000-of-00001.parquet",
        "fr-en/test-00000-of-00001.parquet",
    ]
    assert rows(dataset / "de-en" / "test-00000-of-00001.parquet") == [
        {"sentence1": "ein Haus", "sentence2": "a house", "score": -1.5},
        {"sentence1": " zwei ", "sentence2": "three", "score": 0.25},
        {"sentence1": "drei", "sentence2": "drei", "score": 2.5},
    ]
    card = DatasetCard.load(dataset / "README.md")
    assert card.data.license == "cc-by-4.0"
    assert sorted(card.data.language) == ["deu", "eng", "fra"]
    assert [config["config_name"] for config in card.data.configs] == ["de-en", "fr-en"]
    assert [info["splits"][0]["num_examples"] for info in card.data.dataset_info] == [3, 3]
    assert "Licence: cc-by-4.0. Ask first." in card.text
    assert "eduardofv/sts_eval" in card.text
    assert '"num_samples": 6' in card.text
    assert "huggingface.co/datasets/" not in card.text  # the data comes from elsewhere


def test_the_task_file(upstream, tmp_path):
    upstream.write(TwoLanguages, tmp_path)
    [file] = (tmp_path / "mteb" / "tasks").rglob("*.*")
    assert file == tmp_path / "mteb" / "tasks" / "sts" / "multilingual" / "twolanguages.py"
    assert "mteb_ext" not in file.read_text("utf-8")
    task = stock_of(tmp_path)
    assert type(task).__bases__ == (mteb.abstasks.sts.AbsTaskSTS,)
    assert (task.min_score, task.max_score) == (-2, 3)
    assert task.metadata.is_filled()
    theirs, ours = type(task).metadata.model_dump(), TwoLanguages.metadata.model_dump()
    assert theirs.pop("main_score") == "cosine_pearson"
    assert theirs.pop("dataset") == {
        "path": "YOUR_ACCOUNT/TwoLanguages",
        "revision": "COMMIT_OF_THE_UPLOAD",
    }
    assert ours.pop("adapted_from")[-1] == "STSBenchmarkSemEval"  # which mteb does not know
    assert theirs.pop("adapted_from") == ["STS17", "STSBenchmark", "STSBenchmarkMultilingualSTS"]
    for key in ("main_score", "dataset"):
        del ours[key]
    assert theirs.pop("bibtex_citation").strip() == ours.pop("bibtex_citation").strip()
    assert theirs == ours


def test_questions_that_the_headline_is_about(upstream, tmp_path):
    upstream.write(Answers, tmp_path)
    tables = {
        folder.name: rows(folder / "test-00000-of-00001.parquet")
        for folder in (tmp_path / "dataset").iterdir()
        if folder.is_dir()
    }
    assert tables == {
        "queries": [{"id": "q1", "text": "who?"}, {"id": "q4", "text": "what?"}],
        "corpus": [
            {"id": "a", "text": "he"},
            {"id": "b", "text": "she"},
            {"id": "e", "text": "it"},
            {"id": "f", "text": "this"},
        ],
        "qrels": [
            {"query-id": "q1", "corpus-id": "a", "score": 1},
            {"query-id": "q1", "corpus-id": "b", "score": 0},
            {"query-id": "q4", "corpus-id": "a", "score": 0},
            {"query-id": "q4", "corpus-id": "e", "score": 1},
            {"query-id": "q4", "corpus-id": "f", "score": 1},
        ],
        "top_ranked": [
            {"query-id": "q1", "corpus-ids": ["a", "b"]},
            {"query-id": "q4", "corpus-ids": ["a", "e", "f"]},
        ],
    }
    statistics = tmp_path / "mteb" / "descriptive_stats" / "Reranking" / "Answers.json"
    found = json.loads(statistics.read_text("utf-8"))["test"]
    assert (found["num_queries"], found["num_documents"]) == (2, 4)
    assert found["relevant_docs_statistics"]["num_relevant_docs"] == 3
    assert list((tmp_path / "mteb" / "tasks").rglob("*.py")) == [
        tmp_path / "mteb" / "tasks" / "reranking" / "eng" / "answers.py"
    ]


@pytest.mark.slow
@pytest.mark.parametrize("task", [TwoLanguages, Answers, paper_task("TRECQA.sample")])
def test_a_stock_task_loads_them_and_scores_them_alike(upstream, tmp_path, task):
    upstream.write(task, tmp_path)
    stock = stock_of(tmp_path)
    found = upstream.compare(task, scores(Encoder(), task()), scores(Encoder(), stock))
    assert len(found) == len(task.metadata.hf_subsets) + 1
    assert all(row.agrees for row in found)
    assert [row.stock for row in found] == pytest.approx([row.ours for row in found], abs=1e-5)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("QABot", "withdrew it"),
        ("WikiQA", "Microsoft Research Data License"),
        ("TRECQA", "newswire"),
        ("TRECQAUnmasked", "newswire"),
        ("STSBenchmarkSemEval", "each user accepts"),
    ],
)
def test_what_may_not_be_passed_on_is_not_written(upstream, tmp_path, name, reason, no_data):
    with pytest.raises(ProtocolError, match=f"{name} is not written: .*{reason}") as error:
        upstream.prepare(name, tmp_path / "out", None)
    assert paper_task(name).metadata.reference in str(error.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("licence", ["not specified", None, "https://example.org/terms"])
def test_a_plugins_task_without_an_open_licence_is_not_written(upstream, licence):
    closed = type("Closed", (Answers,), {"metadata": metadata_of("WikiQA", license=licence)})
    closed.metadata.name = "Closed"
    with pytest.raises(ProtocolError, match="Closed is not written: its licence is"):
        upstream.check_terms(closed)
    assert upstream.check_terms(Answers) == ""


def test_what_has_no_licence_and_is_handed_out_comes_with_a_request(upstream):
    for task in upstream.own_tasks():
        assert not (task.withheld and task.ask_first)
        if not task.has_open_licence():
            assert task.withheld or task.ask_first, f"{task.metadata.name} says neither"
    assert "Ask them before you upload" in upstream.check_terms(paper_task("JACSTS"))


def test_a_folder_appears_only_when_it_is_checked(upstream, tmp_path, monkeypatch, capsys):
    def fails(task, folder, model):
        assert (folder / "dataset" / "README.md").exists()
        raise MtebExtError("other scores")

    monkeypatch.setattr(upstream, "check", fails)
    with pytest.raises(MtebExtError, match="other scores"):
        upstream.prepare("JACSTS.sample", tmp_path / "new" / "out", "a model")
    assert not list((tmp_path / "new").iterdir())

    def passes(task, folder, model):
        (folder / "CHECK.md").write_text("alike", encoding="utf-8")

    monkeypatch.setattr(upstream, "check", passes)
    monkeypatch.setattr(paper_task("JACSTS.sample"), "ask_first", "Ask the authors.")
    upstream.prepare("JACSTS.sample", tmp_path / "new" / "out", "a model")
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["out"]
    out = tmp_path / "new" / "out"
    assert sorted(path.name for path in out.iterdir()) == ["CHECK.md", "dataset", "mteb"]
    printed = capsys.readouterr().out
    assert "alike" in printed
    assert "Ask the authors." in printed
    assert "Ask the authors." in (out / "dataset" / "README.md").read_text("utf-8")
    with pytest.raises(MtebExtError, match="is there already, and nothing was written"):
        upstream.prepare("JACSTS.sample", out, "a model")


def test_compare(upstream):
    ours = [
        {"hf_subset": "a", "map": 0.5, "map_worst": 0.25, "map_best": 0.75},
        {"hf_subset": "b", "map": 0.25, "map_worst": 0.25, "map_best": 0.25},
        {"hf_subset": "c", "map": 0.75, "map_worst": 0.5, "map_best": 1.0},
    ]
    stock = [
        {"hf_subset": "b", "map_at_1000": 0.26},
        {"hf_subset": "a", "map_at_1000": 0.74},
        {"hf_subset": "c", "map_at_1000": 0.5},
    ]
    found = upstream.compare(Answers, {"test": ours}, {"test": stock})
    assert [(row.name, row.ours, row.stock) for row in found] == [
        ("test, a", 0.5, 0.74),
        ("test, b", 0.25, 0.26),
        ("test, c", 0.75, 0.5),
        ("task", 0.5, 0.5),
    ]
    assert [row.agrees for row in found] == [True, False, True, True]


def test_the_limits_of_a_task_are_named(upstream):
    assert "`spearman_3482`" in upstream.limits(paper_task("JACSTS"))[-1]
    assert "`map_both`" in upstream.limits(paper_task("WikiQA"))[-1]
    assert len(upstream.limits(paper_task("WMT17Metrics"))) == len(upstream.LIMITS[PaperSTS])


def test_the_statistics_that_ship(upstream, tmp_path, monkeypatch, capsys):
    from mteb_ext.bases.metadata import PaperMetadata

    home = {"metadata": PaperMetadata.at(tmp_path, Answers.metadata)}
    monkeypatch.setattr(upstream, "own_tasks", lambda: [type("Here", (Answers,), home)])
    upstream.keep_statistics(None)
    file = tmp_path / "descriptive_stats" / "Answers.json"
    assert capsys.readouterr().out.strip() == str(file)
    assert json.loads(file.read_text("utf-8"))["test"]["num_queries"] == 4  # both averages


def test_the_command(upstream, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["upstream.py", "WikiQA", "-o", str(tmp_path / "out")])
    with pytest.raises(SystemExit, match="upstream: WikiQA is not written"):
        upstream.main()
    monkeypatch.setattr("sys.argv", ["upstream.py", "WikiQA"])
    with pytest.raises(SystemExit):
        upstream.main()
    assert "name a task and an output folder" in capsys.readouterr().err


@pytest.mark.process
@pytest.mark.models
def test_a_fresh_process_without_this_package(upstream, tmp_path, minilm_folder):
    model = str(minilm_folder)
    upstream.prepare("STS17SemEval.sample", tmp_path / "out", model)
    report = (tmp_path / "out" / "CHECK.md").read_text("utf-8")
    assert report.count("| test, ") == 6
    assert "By `cosine_spearman` its score would be" in report
    assert not list((tmp_path / "out").rglob("*.pyc"))

    task, other = paper_task("STS17SemEval.sample"), tmp_path / "other"
    upstream.write(task, other)
    file = other / "dataset" / "5-en-en" / "test-00000-of-00001.parquet"
    table = pq.read_table(file).to_pydict()
    pq.write_table(pa.table({**table, "score": table["score"][::-1]}), file)
    with pytest.raises(MtebExtError, match="other scores than this package: test, 5-en-en: "):
        upstream.check(task, other, model)
    file.unlink()
    with pytest.raises(MtebExtError, match="mteb cannot run the written task"):
        upstream.check(task, other, model)


@pytest.mark.process
@pytest.mark.models
@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("JACSTS", 0.7388),
        ("STS17SemEval", 0.3874),
        ("WMT17Metrics", 0.6061),
        ("TRECQA", 0.7443),  # written for the test only
    ],
)
def test_a_stock_mteb_gives_our_numbers(upstream, tmp_path, minilm_folder, name, expected):
    task = paper_task(name)
    upstream.write(task, tmp_path)
    found = upstream.check(task, tmp_path, str(minilm_folder))
    assert [row.stock for row in found] == pytest.approx([row.ours for row in found], abs=1e-5)
    assert found[-1].ours == pytest.approx(expected, abs=5e-5)
