"""Model cards: ``mteb create-model-results`` on a folder that our run made."""

from __future__ import annotations

import json

import mteb
import pytest
from huggingface_hub import ModelCard
from mteb.cli.build_cli import build_cli
from test_results import WIKIQA, write_result

from mteb_ext.cli import main

MODEL = "mteb-ext/token-cosine"
TASKS = ("JACSTS", "WikiQA", "STS17SemEval", "STS17SemEvalTurkish", "STSBenchmarkSemEval")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("cards")
    tasks = [f"{task}.sample" for task in TASKS]
    assert main(["run", "-m", MODEL, "-t", *tasks, "--output-folder", str(place)]) == 0
    return place


def create(folder, card, *arguments, model=MODEL):
    places = ["--results-folder", str(folder), "--output-path", str(card)]
    parsed = build_cli().parse_args(
        ["create-model-results", "--model-name", model, *places, *arguments]
    )
    parsed.func(parsed)
    return ModelCard.load(card)


def entries(card):
    return {result.dataset_name: result for result in card.data.eval_results}


@pytest.mark.slow
def test_a_card_names_task_data_revision_split_and_metric(folder, tmp_path):
    card = create(folder, tmp_path / "card.md")
    assert card.data.tags == ["mteb"]
    assert card.data.model_name == MODEL
    found = entries(card)
    assert {
        (r.task_type, r.task_name, r.metric_type, r.metric_name)
        for name, r in found.items()
        if "," not in name
    } == {
        ("STS", "JACSTS.sample", "spearman", "spearman"),
        ("Reranking", "WikiQA.sample", "map", "map"),
        ("STS", "STS17SemEval.sample", "pearson", "mean pearson"),
        ("STS", "STS17SemEvalTurkish.sample", "pearson", "pearson"),
        ("STS", "STSBenchmarkSemEval.sample", "pearson", "pearson"),
    }
    assert {(r.dataset_type, r.dataset_revision, r.dataset_split) for r in found.values()} == {
        ("mteb_ext/samples", "sample", "test")
    }


@pytest.mark.slow
def test_the_scores_are_those_of_the_result_files(folder, tmp_path):
    found = entries(create(folder, tmp_path / "card.md"))
    for path in (folder / "results").rglob("*.sample.json"):
        result = json.loads(path.read_text())
        name = result["task_name"]
        scores = {e["hf_subset"]: e["main_score"] for e in result["scores"]["test"]}
        mean = sum(scores.values()) / len(scores)
        assert found.pop(name).metric_value == pytest.approx(mean, abs=1e-12)
        if len(scores) > 1:
            for subset, score in scores.items():
                entry = found.pop(f"{name}, {subset}")
                assert (entry.metric_value, entry.metric_name) == (score, "pearson")
    assert found == {}


@pytest.mark.slow
def test_tasks_that_share_their_data_are_entries_of_their_own(folder, tmp_path):
    """The hub's form groups metrics by data, config, split and revision."""
    (index,) = create(folder, tmp_path / "card.md").data.to_dict()["model-index"]
    assert all(len(result["metrics"]) == 1 for result in index["results"])
    assert len(index["results"]) == 4 + 7


@pytest.mark.slow
def test_tasks_and_benchmarks_are_chosen(folder, tmp_path):
    only = create(folder, tmp_path / "a.md", "--tasks", "WikiQA.sample", "JACSTS.sample")
    assert list(entries(only)) == ["JACSTS.sample", "WikiQA.sample"]
    assert create(folder, tmp_path / "b.md", "--benchmarks", "TANDA-AS2").data.eval_results is None


def test_the_revision_is_that_of_the_result(tmp_path):
    entry = {
        "hf_subset": "default",
        "map": 0.5,
        "main_score": 0.5,
        "num_queries": 20,
        "languages": ["jpn-Jpan"],
    }
    write_result(tmp_path, "QABot", {"test": [entry]}, model=MODEL, data="unverified-01")
    (found,) = entries(create(tmp_path, tmp_path / "card.md")).values()
    assert (found.dataset_name, found.dataset_revision) == ("QABot", "unverified-01")


def test_a_mean_over_some_subsets_is_no_headline(tmp_path):
    entry = {"hf_subset": "3-es-es", "main_score": 0.5, "pearson": 0.5, "languages": ["spa-Latn"]}
    write_result(tmp_path, "STS17SemEval", {"test": [entry]}, model=MODEL)
    assert list(entries(create(tmp_path, tmp_path / "card.md"))) == ["STS17SemEval, 3-es-es"]


@pytest.mark.slow
def test_an_existing_card_keeps_the_rest_and_gets_new_scores(folder, tmp_path):
    old = create(folder, tmp_path / "old.md", "--tasks", "WikiQA.sample", "JACSTS.sample")
    old.data.eval_results[0].metric_value = 0.125  # JACSTS
    old.data.eval_results[1].metric_value = 0.125
    old.data.license = "mit"
    old.save(tmp_path / "old.md")
    options = ("--from-existing", str(tmp_path / "old.md"), "--tasks", "WikiQA.sample")
    new = create(folder, tmp_path / "new.md", *options)
    assert new.data.license == "mit"
    assert len(new.data.eval_results) == 2
    values = {name: result.metric_value for name, result in entries(new).items()}
    assert values["JACSTS.sample"] == 0.125
    assert values["WikiQA.sample"] > 0.125


def test_results_of_several_revisions_are_no_card(tmp_path, caplog):
    for revision in ("1", "2"):
        write_result(tmp_path, "WikiQA", {"test": [WIKIQA]}, model=MODEL, revision=revision)
    assert create(tmp_path, tmp_path / "card.md").data.eval_results is None
    assert "several revisions of mteb-ext/token-cosine, 1, 2" in caplog.text


def test_tasks_of_mteb_are_left_to_mteb(tmp_path):
    write_result(tmp_path, "STS12", {"test": "of no interest"}, model=MODEL)
    assert create(tmp_path, tmp_path / "card.md").data.eval_results is None
    chosen = create(tmp_path, tmp_path / "chosen.md", "--tasks", "STS12")
    assert chosen.data.eval_results is None


def test_a_model_of_mteb_itself_is_found_offline(tmp_path):
    model = "sentence-transformers/all-MiniLM-L6-v2"
    revision = mteb.get_model_meta(model).revision
    write_result(tmp_path, "WikiQA", {"test": [WIKIQA]}, model=model, revision=revision)
    card = create(tmp_path, tmp_path / "card.md", model=model)
    assert (card.data.model_name, list(entries(card))) == (model, ["WikiQA"])
