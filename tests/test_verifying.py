"""Results computed again from kept predictions: what is planted is found, and nothing else is."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import mteb
import pytest
from conftest import write_qabot
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from made_up.made_up_tasks import LETTERS, MadeUpPairs, MadeUpQuestions
from mteb.models.model_implementations import MODEL_REGISTRY
from test_running import run

import mteb_ext
from mteb_ext.analysis.cells import find_runs, load_cells
from mteb_ext.analysis.folder import ResultsFolder
from mteb_ext.analysis.ties import tie_ranges
from mteb_ext.bases import PaperTask
from mteb_ext.cli import command_parser, main
from mteb_ext.files import read_regular
from mteb_ext.metrics import significance
from mteb_ext.plugin.discovery import own_tasks
from mteb_ext.protocol import QuestionFilter, protocol_version
from mteb_ext.verification import rescoring
from mteb_ext.verification.findings import CODES

pytestmark = pytest.mark.slow  # runs, and every score of them again

PAIRS, QUESTIONS = "MadeUpPairs", "MadeUpQuestions"
LETTERS_NAME, COSINE, BLEU, COUNT, WEIGHTED = (
    "made-up/letters",
    *(f"mteb-ext/{name}" for name in ("token-cosine", "sentence-bleu")),
    *(f"mteb-ext/{name}" for name in ("word-count", "weighted-word-count")),
)
DRAWS, FEWEST = significance._DRAWS, significance._FEWEST
VERSIONS = {
    "JACSTS": "8f92b0fdea3c670c",
    "QABot": "16a49259e70aa63d",
    "STS17SemEval": "5eba22593655f299",
    "STS17SemEvalTurkish": "5eba22593655f299",
    "STSBenchmarkSemEval": "5eba22593655f299",
    "TRECQA": "64a8f898f1e2bf93",
    "TRECQAUnmasked": "64a8f898f1e2bf93",
    "WikiQA": "120750c2c0738a20",
    "WMT17Metrics": "5eba22593655f299",
    "WMT17MetricsQE": "5eba22593655f299",
}
MADE_UP = Path(__file__).parent / "made_up"
ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def made_up():
    """The made-up tasks and their model, registered; intervals are cheap."""
    mteb.get_task("STS12")  # mteb has its tasks then
    tasks = vars(sys.modules["mteb.get_tasks"])["_TASKS_REGISTRY"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MTEB_EXT_OFFLINE", "1")
        for task in (MadeUpPairs, MadeUpQuestions):
            patch.setitem(tasks, task.metadata.name, task)
        patch.setitem(MODEL_REGISTRY, LETTERS_NAME, LETTERS)
        patch.setattr(significance, "_DRAWS", 10_000)
        patch.setattr(significance, "_FEWEST", 200)
        yield


@pytest.fixture
def in_processes(made_up, monkeypatch):
    """Processes know the tasks too, and nothing of cheap intervals."""
    monkeypatch.setenv("MTEB_EXT_PATH", str(MADE_UP))
    monkeypatch.setattr(significance, "_DRAWS", DRAWS)
    monkeypatch.setattr(significance, "_FEWEST", FEWEST)


@pytest.fixture(scope="module")
def five_models(made_up, tmp_path_factory):
    """What a run of five models leaves behind: never written to."""
    folder = tmp_path_factory.mktemp("five") / "out"
    ranking = [COUNT, WEIGHTED]
    assert run(folder, models=[LETTERS_NAME, COSINE, BLEU], tasks=[PAIRS, QUESTIONS]) == 0
    assert run(folder, models=ranking, tasks=[QUESTIONS]) == 0
    return folder


@pytest.fixture
def folder(five_models, tmp_path):
    """A copy of the results of five models."""
    return Path(shutil.copytree(five_models, tmp_path / "out"))


def result_of(folder, task=PAIRS, model=LETTERS_NAME, suffix=".json"):
    return folder / "results" / model.replace("/", "__") / "1" / f"{task}{suffix}"


def predictions_of(folder, task=PAIRS, model=LETTERS_NAME):
    return folder / "predictions" / model.replace("/", "__") / "1" / f"{task}_predictions.json"


def edit(path, change):
    """Change a JSON file in place."""
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content, indent=2))
    return path


def entry(content, subset="a"):
    [found] = [e for e in content["scores"]["test"] if e["hf_subset"] == subset]
    return found


def findings(*folders, levels=("error", "warning", "note"), **options):
    """The findings of some levels, each with a reason and a remedy that are sentences."""
    report = mteb_ext.verify_results(folders, **options)
    for finding in report.findings:
        assert finding.level in CODES
        for text in (finding.reason, finding.remedy):
            assert text == text.strip() != ""
        assert finding.remedy[0].isupper()
    return [finding for finding in report.findings if finding.level in levels]


def codes(*folders, **options):
    return {finding.code for finding in findings(*folders, **options)}


def verdict(folder, task=PAIRS, model=LETTERS_NAME, revision="1"):
    return mteb_ext.verify_results(folder).verdicts[model, revision, task]


# --- clean folders -------------------------------------------------------------------------------


def test_five_models_are_verified(five_models):
    report = mteb_ext.verify_results(five_models)
    assert [f for f in report.findings if f.level != "submission"] == []
    assert not report.failed
    assert report.verdicts == {
        **{
            (m, "1", t): "verified"
            for m in (LETTERS_NAME, COSINE, BLEU)
            for t in (PAIRS, QUESTIONS)
        },
        **{(m, "1", QUESTIONS): "verified" for m in (COUNT, WEIGHTED)},
    }


def test_a_resumed_run_is_verified(made_up, tmp_path):
    folder = tmp_path / "out"
    run(folder, "--eval-splits", "dev", models=[LETTERS_NAME], tasks=[PAIRS])
    run(folder, "--eval-subsets", "a", models=[LETTERS_NAME], tasks=[PAIRS])
    assert codes(folder) == {"missing-subset"}
    run(folder, models=[LETTERS_NAME], tasks=[PAIRS])
    assert codes(folder) == set()
    assert set(json.loads(result_of(folder).read_text())["scores"]) == {"dev", "test"}
    assert verdict(folder) == "verified"


def test_shards_are_verified_apart_and_together(made_up, tmp_path):
    for part in ("1/2", "2/2"):
        for place in (tmp_path / "one", tmp_path / f"shard{part[0]}"):
            run(place, "--shard", part, models=[LETTERS_NAME, COSINE], tasks=[PAIRS, QUESTIONS])
    assert codes(tmp_path / "one") == codes(tmp_path / "shard1", tmp_path / "shard2") == set()
    together = mteb_ext.verify_results(tmp_path / "one").verdicts
    assert together == mteb_ext.verify_results([tmp_path / "shard1", tmp_path / "shard2"]).verdicts
    assert set(together.values()) == {"verified"}
    assert len(together) == 4


@pytest.mark.process
def test_a_run_in_processes_is_verified(in_processes, tmp_path):
    assert (
        run(tmp_path, "--jobs", "2", models=[LETTERS_NAME, COSINE], tasks=[PAIRS, QUESTIONS]) == 0
    )
    assert codes(tmp_path) == set()
    assert set(mteb_ext.verify_results(tmp_path).verdicts.values()) == {"verified"}


@pytest.mark.ray
@pytest.mark.process
def test_a_run_on_ray_is_verified(in_processes, tmp_path):
    pytest.importorskip("ray")
    assert run(tmp_path, "--ray", models=[LETTERS_NAME, COSINE], tasks=[PAIRS, QUESTIONS]) == 0
    assert codes(tmp_path) == set()
    assert set(mteb_ext.verify_results(tmp_path).verdicts.values()) == {"verified"}


@pytest.mark.real_data
def test_the_papers_data_is_verified(tmp_path):
    tasks = ["WikiQA", "TRECQA", "STS17SemEvalTurkish", "STSBenchmarkSemEval"]
    assert run(tmp_path, models=[COSINE, BLEU], tasks=tasks) == 0
    assert codes(tmp_path) == set()
    report = mteb_ext.verify_results(tmp_path)
    assert report.verdicts == {(m, "1", t): "verified" for m in (COSINE, BLEU) for t in tasks}


@pytest.mark.parametrize("below", ["results", "results/made-up__letters/1"])
def test_predictions_beside_the_folder_are_found(folder, below, monkeypatch):
    assert codes(folder / below) == set()
    monkeypatch.chdir(folder / below)
    assert codes(".") == set()
    edit(predictions_of(folder), lambda c: c["a"]["test"].update(cosine_scores=[0.5] * 12))
    assert codes(".") == {"changed-predictions", "unfit-predictions"}


def test_predictions_elsewhere_are_found_where_they_are_named(made_up, tmp_path):
    out, kept = tmp_path / "out", tmp_path / "kept"
    run(out, "--prediction-folder", str(kept), models=[LETTERS_NAME], tasks=[QUESTIONS])
    assert codes(out, kept) == set()
    assert codes(out) == {"no-predictions"}


def test_a_model_with_other_options_is_another(made_up, tmp_path):
    out = tmp_path / "out"
    options = ("--model-kwargs", '{"side": "left"}')
    for more in ((), options):
        run(out, *more, models=[LETTERS_NAME], tasks=[QUESTIONS])
    assert codes(out) == codes(out / "results") == set()
    named = f"{LETTERS_NAME} (side=left)"
    verdicts = {(LETTERS_NAME, "1", QUESTIONS): "verified", (named, "1", QUESTIONS): "verified"}
    assert mteb_ext.verify_results(out).verdicts == verdicts
    [path] = (out / "predictions").rglob("experiments/*/*.json")
    edit(path, lambda c: c["default"]["test"]["q0"].update({"q0/1": 9.0}))
    assert {f.model for f in findings(out)} == {named}
    assert main(["compare", str(out)]) == 1


def test_a_run_of_mteb_itself_has_no_stamp_and_is_verified(made_up, tmp_path):
    for name in (LETTERS_NAME, COSINE):
        mteb.evaluate(
            mteb.get_model(name),
            mteb.get_tasks(tasks=[QUESTIONS]),
            cache=mteb.ResultCache(tmp_path / "out"),
            prediction_folder=tmp_path / "predictions" / name.partition("/")[2],
            encode_kwargs={"show_progress_bar": False},
        )
    found = findings(tmp_path)
    assert {f.code for f in found} == {"no-stamp"}
    assert {f.level for f in found} == {"note"}
    assert verdict(tmp_path, QUESTIONS) == verdict(tmp_path, QUESTIONS, COSINE) == "verified"


def test_without_predictions_a_result_is_not_verifiable_and_the_command_is_named(folder):
    predictions_of(folder).unlink()
    [finding] = findings(folder)
    assert (finding.code, finding.level) == ("no-predictions", "warning")
    assert finding.reason.startswith("not verifiable: no predictions were kept")
    assert finding.remedy == (
        "Run with predictions kept. Run it again: mteb-ext run -m made-up/letters -t MadeUpPairs "
        f"--overwrite-strategy always --output-folder {folder}"
    )
    assert verdict(folder) == "unverified"
    assert not mteb_ext.verify_results(folder).failed


# --- planted faults ------------------------------------------------------------------------------


def changed_score(folder):
    path = result_of(folder)
    edit(path, lambda c: entry(c).update(pearson=0.9, main_score=0.9))
    return path, "changed-score", "pearson is 0.9 and comes out as"


def changed_prediction(folder):
    path = predictions_of(folder, QUESTIONS)
    edit(path, lambda c: c["default"]["test"]["q0"].update({"q0/1": 0.123}))
    return path, "changed-predictions", "MadeUpQuestions.stamp"


def other_models_predictions(folder):
    path = predictions_of(folder, QUESTIONS, COUNT)
    shutil.copy(predictions_of(folder, QUESTIONS, WEIGHTED), path)
    return path, "other-model", "the predictions of mteb-ext/weighted-word-count, revision 1"


def old_protocol_version(folder):
    path = result_of(folder, suffix=".stamp")
    edit(path, lambda c: c.update(protocol_version="0123456789abcdef"))
    return path.with_suffix(".json"), "old-protocol", "version 0123456789abcdef"


def sample_data(folder):
    assert run(folder, models=[COSINE], tasks=["WikiQA.sample"]) == 0
    return result_of(folder, "WikiQA.sample", COSINE), "sample-data", "made-up sample rows"


def unverified_qabot(folder):
    write_qabot(folder.parent)
    assert run(folder, models=[COSINE], tasks=["QABot"]) == 0
    return result_of(folder, "QABot", COSINE), "unverified-data", "another edition of the data"


def missing_subset(folder):
    path = result_of(folder)
    edit(path, lambda c: c["scores"]["test"].pop())
    return path, "missing-subset", "b of test is missing"


def removed_language(folder):
    path = result_of(folder)
    edit(path, lambda c: entry(c, "b")["languages"].remove("deu-Latn"))
    return path, "other-languages", "'eng-Latn' in test, b, not 'eng-Latn', 'deu-Latn'."


def no_revision(folder):
    for kind in ("results", "predictions"):
        place = folder / kind / "made-up__letters"
        (place / "1").rename(place / "no_revision_available")
    place = folder / "results" / "made-up__letters" / "no_revision_available"
    edit(place / "model_meta.json", lambda c: c.update(revision=None))
    return place / f"{PAIRS}.json", "no-revision", "revision is no_revision_available"


def foreign_file(folder):
    path = result_of(folder).with_name("notes.json")
    path.write_text('{"note": "mine"}')
    return path, "foreign-file", "no result of mteb"


def truncated(folder):
    path = result_of(folder)
    path.write_text(path.read_text()[:1000])
    return path, "damaged-file", "not JSON from line"


def twelve_megabytes(folder):
    path = result_of(folder)
    path.write_text(path.read_text() + " " * (12 << 20))
    return path, "large-file", "12.0 MB"


PLANTED = (
    *(changed_score, changed_prediction, other_models_predictions, old_protocol_version),
    *(sample_data, unverified_qabot, missing_subset, removed_language),
    *(no_revision, foreign_file, truncated, twelve_megabytes),
)


@pytest.mark.parametrize("plant", PLANTED, ids=[plant.__name__ for plant in PLANTED])
def test_a_planted_fault_is_caught_and_named(folder, no_data, plant, capsys):
    path, code, reason = plant(folder)
    before = {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    [finding] = [f for f in findings(folder) if (f.file, f.code) == (path, code)]
    assert finding.level == "error"
    assert reason in finding.reason
    capsys.readouterr()
    assert main(["verify", str(folder)]) == 1
    [line] = [
        line for line in capsys.readouterr().out.splitlines() if code in line and str(path) in line
    ]
    assert finding.reason in line
    assert finding.remedy in line
    assert {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()} == before


@pytest.mark.parametrize(
    ("plant", "verdicts"),
    [
        (changed_score, {(LETTERS_NAME, PAIRS): "failed"}),
        (changed_prediction, {(LETTERS_NAME, QUESTIONS): "failed"}),
        (sample_data, {(COSINE, "WikiQA.sample"): "unverified"}),
        (unverified_qabot, {(COSINE, "QABot"): "unverified"}),
        (truncated, {(LETTERS_NAME, PAIRS): "failed"}),
        (foreign_file, {}),
    ],
)
def test_a_fault_of_one_result_is_none_of_the_others(folder, no_data, plant, verdicts):
    plant(folder)
    found = mteb_ext.verify_results(folder).verdicts
    assert {(m, t): v for (m, _, t), v in found.items() if v != "verified"} == verdicts


@pytest.mark.parametrize("key", ["pearson", "spearman", "ci95_low", "cosine_pearson", "main_score"])
def test_one_digit_of_any_score(folder, key):
    """The last of the six digits that mteb writes."""
    edit(result_of(folder), lambda c: entry(c).update({key: entry(c)[key] + 1e-6}))
    assert codes(folder) == {"changed-score", "changed-result"}


@pytest.mark.parametrize("change", [lambda v: v + 0.01, str, lambda v: None, lambda v: True])
def test_every_number_of_a_result_is_computed_again(folder, monkeypatch, change):
    monkeypatch.setattr(rescoring, "_SHOWN", 1000)
    numbers = set()

    def change_all(content):
        [scores] = content["scores"]["test"]
        numbers.update(k for k, v in scores.items() if isinstance(v, (int, float)))
        scores.update({k: change(scores[k]) for k in numbers - {"main_score"}})

    edit(result_of(folder, QUESTIONS), change_all)
    assert len(numbers) > 50
    [finding] = [f for f in findings(folder) if f.code == "changed-score"]
    for key in numbers - {"main_score"}:
        assert f" {key} is " in f" {finding.reason}"


@pytest.mark.parametrize("end", ["low", "high"])
def test_the_interval_of_the_mean(folder, end):
    def change(content):
        [holder] = [e for e in content["scores"]["test"] if "headline_ci95_low" in e]
        holder[f"headline_ci95_{end}"] += 0.001

    edit(result_of(folder), change)
    [finding] = [f for f in findings(folder) if f.level == "error"]
    assert f"headline_ci95_{end}" in finding.reason


INVENTED = ("map", "ndcg_at_10", "headline_ci95_low", "num_queries", "pearson_", "main_score_2")


def test_a_score_that_the_task_does_not_have(folder):
    edit(result_of(folder), lambda c: entry(c).update(pearson_best=0.99))
    [finding] = [f for f in findings(folder) if f.level == "error"]
    assert finding.code == "unknown-score"
    assert "'pearson_best' of test, a" in finding.reason


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=4,
)


@pytest.mark.slow
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(key=st.text(min_size=1, max_size=20) | st.sampled_from(INVENTED), value=ANY_JSON)
def test_an_invented_key_of_any_type_is_never_verified(folder, key, value):
    path = result_of(folder)
    whole = path.read_bytes()
    try:
        if key in entry(json.loads(whole)):
            return
        edit(path, lambda c: entry(c).update({key: value}))
        assert verdict(folder) != "verified"
    finally:
        path.write_bytes(whole)


def test_a_score_that_the_result_lacks(folder):
    edit(result_of(folder), lambda c: entry(c).pop("spearman"))
    assert codes(folder) == {"missing-score", "changed-result"}
    assert verdict(folder) == "unverified"


def test_what_is_no_score_is_covered_by_the_stamp(folder):
    edit(result_of(folder), lambda c: c.update(evaluation_time=0.001))
    [finding] = findings(folder)
    assert (finding.code, finding.level) == ("changed-result", "warning")


def test_scores_and_predictions_of_another_model_without_stamps(folder):
    """Two results are one model's, to the last digit: that much shows without a stamp."""
    for stamp in folder.rglob("*.stamp"):
        stamp.unlink()
    scores = json.loads(result_of(folder, QUESTIONS, WEIGHTED).read_text())["scores"]
    edit(result_of(folder, QUESTIONS, COUNT), lambda c: c.update(scores=scores))
    kept = json.loads(predictions_of(folder, QUESTIONS, WEIGHTED).read_text())["default"]
    edit(predictions_of(folder, QUESTIONS, COUNT), lambda c: c.update(default=kept))
    [finding] = findings(folder, levels=["warning"])
    assert finding.code == "same-predictions"
    assert COUNT in str((finding.model, finding.reason))
    assert WEIGHTED in str((finding.model, finding.reason))


UNFIT = {
    "a query is gone": lambda c: c["default"]["test"].pop("q0"),
    "a candidate is gone": lambda c: c["default"]["test"]["q0"].popitem(),
    "a candidate too many": lambda c: c["default"]["test"]["q0"].update(more=0.5),
    "not a number": lambda c: c["default"]["test"]["q0"].update({"q0/1": float("nan")}),
    "infinite": lambda c: c["default"]["test"]["q0"].update({"q0/1": float("inf")}),
    "beyond all floats": lambda c: c["default"]["test"]["q0"].update({"q0/1": 10**400}),
    "a text": lambda c: c["default"]["test"]["q0"].update({"q0/1": "0.5"}),
    "a list": lambda c: c["default"].update(test=[1, 2]),
}


@pytest.mark.parametrize("change", UNFIT.values(), ids=UNFIT)
def test_predictions_that_do_not_fit_the_data(folder, change):
    path = edit(predictions_of(folder, QUESTIONS), change)
    found = {f.code: f for f in findings(folder)}
    assert set(found) == {"unfit-predictions", "changed-predictions"}
    assert found["unfit-predictions"].file == path
    assert verdict(folder, QUESTIONS) == "failed"


@pytest.mark.parametrize(
    "scores",
    [[0.5] * 12, [0.5], [], {"a": 1}, None],
    ids=["constant", "few", "none", "map", "null"],
)
def test_predictions_of_pairs_that_do_not_fit(folder, scores):
    edit(predictions_of(folder), lambda c: c["a"]["test"].update(cosine_scores=scores))
    assert "unfit-predictions" in codes(folder)


def test_two_kinds_of_similarity_in_one_file(folder):
    def add(content):
        scores = content["a"]["test"]
        scores["similarity_scores"] = scores["cosine_scores"]

    edit(predictions_of(folder), add)
    assert codes(folder) == {"changed-predictions", "unfit-predictions"}


def test_predictions_of_a_part(folder):
    for stamp in folder.rglob("*.stamp"):
        stamp.unlink()
    edit(predictions_of(folder), lambda c: c.pop("b"))
    [finding] = findings(folder, levels=["error", "warning"])
    assert (finding.code, finding.level) == ("no-predictions", "warning")
    assert "the file holds nothing of test, b" in finding.reason
    assert verdict(folder) == "unverified"


def test_damaged_predictions(folder):
    path = predictions_of(folder)
    path.write_text(path.read_text()[:-9])
    [finding] = findings(folder)
    assert (finding.code, finding.file, finding.task) == ("damaged-file", path, PAIRS)
    assert verdict(folder) == "failed"


@pytest.mark.parametrize("revision", ["another", None])
def test_predictions_on_other_data(folder, revision):
    edit(predictions_of(folder), lambda c: c["mteb_ext"].update(dataset_revision=revision))
    found = {f.code for f in findings(folder)}
    assert "other-data" in found
    assert verdict(folder) == "failed"


def test_a_second_prediction_file_must_give_the_result_too(folder):
    copy = folder / "mine"
    copy.mkdir()
    shutil.copy(predictions_of(folder, QUESTIONS), copy)
    assert codes(folder) == set()
    edit(
        copy / f"{QUESTIONS}_predictions.json",
        lambda c: c["default"]["test"]["q0"].update({"q0/1": 9.0}),
    )
    assert "changed-score" in codes(folder)


def test_predictions_without_a_result(folder):
    result_of(folder).unlink()
    assert {f.code: f.level for f in findings(folder)} == {
        "stray-predictions": "note",
        "stray-stamp": "note",
    }


def test_the_command_names_the_model_as_the_run_did(folder):
    predictions_of(folder).unlink()
    options = {"name": "my/own", "kind": "sparse", "model_kwargs": {"a": 1}}
    model = {"model": "m dir", **options, "prompts": {"query": "find: "}}
    edit(result_of(folder, suffix=".stamp"), lambda c: c.update(model=model))
    [remedy] = [f.remedy for f in findings(folder) if f.code == "no-predictions"]
    words = shlex.split(remedy.partition("again: ")[2])
    plan = command_parser().parse_args(words[1:])
    assert (plan.model, plan.name, plan.kind) == (["m dir"], "my/own", "sparse")
    assert (plan.model_kwargs, plan.prompt) == ({"a": 1}, [("query", "find: ")])


# --- the stamp -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "value", "code"),
    [
        ("task", QUESTIONS, "other-stamp"),
        ("model_name", COSINE, "other-stamp"),
        ("model_revision", "2", "other-stamp"),
        ("dataset_revision", "2", "other-stamp"),
        ("result_sha256", "0" * 64, "changed-result"),
        ("predictions_sha256", "0" * 64, "changed-predictions"),
        ("libraries", {"mteb": "2.25.0"}, "other-versions"),
        ("libraries", {"mteb-ext": "0.0.1"}, "other-versions"),
        ("data_fingerprints", {"test/a": "0" * 64}, "other-data"),
        ("libraries", None, "damaged-stamp"),
        ("model_name", 5, "damaged-stamp"),
        ("model", [], "damaged-stamp"),
        ("protocol_version", 1, "damaged-stamp"),
    ],
)
def test_what_a_stamp_says_is_checked(folder, field, value, code):
    edit(result_of(folder, suffix=".stamp"), lambda c: c.update({field: value}))
    assert codes(folder) == {code}


def test_a_stamp_may_name_no_predictions(folder):
    edit(result_of(folder, suffix=".stamp"), lambda c: c.update(predictions_sha256=None))
    assert codes(folder) == set()


def test_the_stamp_names_the_data_and_the_protocol(folder):
    stamp = json.loads(result_of(folder, suffix=".stamp").read_text())
    task = mteb.get_task(PAIRS)
    task.load_data()
    assert stamp["data_fingerprints"] == task.fingerprints
    assert set(task.fingerprints) == {"test/a", "test/b"}
    assert stamp["result_sha256"] == hashlib.sha256(result_of(folder).read_bytes()).hexdigest()
    assert len(stamp["protocol_version"]) == 16


def test_a_protocols_version_changes_with_what_it_demands():
    ranking, pairs = MadeUpQuestions.protocol, MadeUpPairs.protocol
    changed = [
        ranking,
        replace(ranking, headline="mrr"),
        replace(ranking, keep=QuestionFilter.BOTH),
        replace(ranking, also=None),
        replace(ranking, also=replace(ranking.also, name="other")),
        replace(ranking, also=replace(ranking.also, keep=QuestionFilter.ANSWERED)),
        replace(ranking, cutoffs=(1, 5)),
        replace(ranking, symmetric=True),
        replace(ranking, unfiltered=frozenset({"train"})),
        pairs,
        replace(pairs, headline="spearman"),
    ]
    assert len({protocol_version(protocol) for protocol in changed}) == len(changed)
    for protocol in (ranking, pairs):
        alike = replace(protocol, source="another edition of the paper", facts={})
        assert protocol_version(alike) == protocol_version(protocol)
    assert protocol_version(replace(ranking, cutoffs=[1])) == protocol_version(ranking)


def test_the_versions_of_our_protocols():
    """A change of a protocol makes all results under the old one stale: say so in CHANGELOG.md."""
    versions = {
        task.metadata.name: protocol_version(task.protocol)
        for task in own_tasks()
        if issubclass(task, PaperTask)
    }
    assert VERSIONS.items() <= versions.items()  # a new task needs no line


def test_other_data_under_the_same_revision(folder, monkeypatch):
    """A plugin's rows that changed without a new revision: the stamp remembers the old ones."""
    read = MadeUpPairs.read.__func__

    def changed(cls, source, split, subset):
        pairs = read(cls, source, split, subset)
        pairs.sentence1[0] = "another text"
        return pairs

    monkeypatch.setattr(MadeUpPairs, "read", classmethod(changed))
    found = [f for f in findings(folder) if f.model == LETTERS_NAME]
    assert {f.code for f in found} == {"other-data"}
    assert "other data of test/a" in found[0].reason


def test_another_dataset_revision(folder):
    edit(result_of(folder), lambda c: c.update(dataset_revision="old"))
    assert {"other-data", "other-stamp"} <= codes(folder)
    assert verdict(folder) == "failed"


def test_compare_and_ties_leave_out_predictions_that_the_stamp_does_not_name(folder, capsys):
    assert LETTERS_NAME in set(tie_ranges([folder], [QUESTIONS])["run"])
    path = predictions_of(folder, QUESTIONS)
    edit(path, lambda c: c["default"]["test"]["q0"].update({"q0/1": 0.5}))
    for command in (["compare"], ["ties"]):
        assert main([*command, str(folder), "-t", QUESTIONS]) == 0
        shown = capsys.readouterr()
        assert f"{path} was changed after the run" in shown.err
        assert "is not the one in MadeUpQuestions.stamp" in shown.err
        assert LETTERS_NAME not in shown.out
    others = find_runs([folder / "predictions"])[PAIRS]  # found by the layout
    load_cells(ResultsFolder(folder / "predictions"), PAIRS, others)


def test_compare_finds_the_stamp_of_predictions_elsewhere(made_up, tmp_path):
    out, kept = tmp_path / "out", tmp_path / "kept"
    run(out, "--prediction-folder", str(kept), models=[COSINE, COUNT], tasks=[QUESTIONS])
    path = kept / "mteb-ext__word-count" / "1" / f"{QUESTIONS}_predictions.json"
    edit(path, lambda c: c["default"]["test"]["q0"].update({"q0/1": 0.5}))
    assert main(["compare", str(kept)]) == 0  # no stamp is known
    assert main(["compare", str(kept), str(out)]) == 1


# --- one result, several files -------------------------------------------------------------------


def test_a_result_that_stands_twice(folder, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(folder / "results", copy / "results")
    found = findings(folder, copy)
    assert {(f.code, f.level) for f in found} == {("duplicate", "warning")}
    assert len(found) == 8
    edit(result_of(copy), lambda c: entry(c).update(pearson=0.5, main_score=0.5))
    assert "contradiction" in codes(folder, copy)
    assert mteb_ext.verify_results([folder, copy]).verdicts[LETTERS_NAME, "1", PAIRS] == "failed"


def test_a_file_counts_once(folder):
    assert codes(folder, folder, folder / "results") == set()


# --- what is in the way --------------------------------------------------------------------------


def nested(path):
    path.write_text("[" * 200_000 + "]" * 200_000)


def numbers(path):
    path.write_text(f'{{"task_name": {"9" * 10_000}, "scores": {"9" * 10_000}}}')


def surrogates(path):
    path.write_text('{"task_name": "\\ud800", "scores": {}, "dataset_revision": "\\ud800"}')


def binary(path):
    path.write_bytes(b"\x00\xff\xfe" * 100)


def empty(path):
    path.write_bytes(b"")


def deep(value):
    """A list that can just be read."""
    for _ in range(600):
        value = [value]
    return value


@pytest.mark.parametrize("key", ["main_score", "map", "languages", "hf_subset", "more"])
def test_nested_values_in_a_result(folder, key):
    edit(result_of(folder, QUESTIONS), lambda c: c["scores"]["test"][0].update({key: deep(0.5)}))
    assert codes(folder) - {"stray-predictions", "stray-stamp"}


def test_nested_values_in_predictions(folder):
    edit(predictions_of(folder, QUESTIONS), lambda c: c["default"].update(test=deep(0.5)))
    edit(predictions_of(folder), lambda c: c["a"]["test"].update(cosine_scores=deep(0.5)))
    assert {"unfit-predictions"} <= codes(folder)


HOSTILE = (nested, numbers, surrogates, binary, empty)


@pytest.mark.parametrize("write", HOSTILE)
@pytest.mark.parametrize("name", [f"{PAIRS}.json", f"{PAIRS}.stamp", "model_meta.json"])
def test_hostile_files(folder, write, name, capsys):
    write(result_of(folder).with_name(name))
    assert main(["verify", str(folder)]) == 1
    assert name in capsys.readouterr().out


@pytest.mark.parametrize("write", HOSTILE)
def test_hostile_predictions(folder, write):
    write(predictions_of(folder))
    assert verdict(folder) == "failed"


@pytest.mark.parametrize("write", HOSTILE)
def test_hostile_run_settings(folder, write):
    write(result_of(folder).with_name("run_settings.jsonl"))
    assert codes(folder) == set()
    found = codes(folder, levels=["submission"])
    assert "run-settings" in found


def test_names_that_act_on_a_terminal(folder, capsys):
    path = result_of(folder)
    edit(path.with_name("model_meta.json"), lambda c: c.update(name="a\x1b[2J\n\ud800b"))
    (path.parent / "\x1b[31m\nred.txt").write_text("")
    assert main(["verify", str(folder)]) == 1
    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    assert "red.txt" in shown
    assert main(["verify", str(folder), "--json"]) == 1
    json.loads(capsys.readouterr().out)


def test_a_name_that_is_not_utf8(folder, capsys):
    path = result_of(folder).with_name("caf\udce9.json")
    try:
        path.write_text("{")
    except OSError:
        pytest.skip("this file system has no such names")
    assert main(["verify", str(folder), "--json"]) == 1
    content = json.loads(capsys.readouterr().out)
    assert any("caf" in finding["file"] for finding in content["findings"])


def test_a_link_is_followed_and_named(folder, tmp_path):
    path = result_of(folder)
    target = path.rename(tmp_path / path.name)
    path.symlink_to(target)
    found = findings(folder)
    assert {f.code for f in found} == {"link"}
    assert verdict(folder) == "verified"
    target.unlink()
    assert "stray-stamp" in codes(folder)


def test_a_file_that_cannot_be_read(folder, monkeypatch):
    def refuse(path, largest):
        if path == result_of(folder):
            raise PermissionError(13, "Permission denied")
        return read_regular(path, largest)

    monkeypatch.setattr("mteb_ext.json_files.read_regular", refuse)
    [finding] = [f for f in findings(folder) if f.level == "error"]
    assert finding.code == "damaged-file"
    assert "Permission denied" in finding.reason


def test_other_json_is_left_alone(folder):
    (folder / "table.json").write_text("[]")
    assert {f.code: f.level for f in findings(folder)} == {"other-json": "note"}
    assert main(["verify", str(folder)]) == 0


def test_a_result_of_an_unknown_task(folder):
    path = result_of(folder)
    content = json.loads(path.read_text())
    path.with_name("Elsewhere.json").write_text(json.dumps(content | {"task_name": "Elsewhere"}))
    [finding] = findings(folder)
    assert finding.code == "unknown-task"
    assert "there is no task 'Elsewhere'" in finding.reason
    assert verdict(folder, "Elsewhere") == "unverified"


def test_data_that_is_not_here(folder, no_data, monkeypatch):
    write_qabot(no_data)
    run(folder, models=[COSINE], tasks=["QABot"])
    (no_data / "qabot").rename(no_data / "gone")
    found = {f.code: f for f in findings(folder)}
    assert set(found) == {"no-data", "unverified-data"}
    assert found["no-data"].level == "warning"
    assert "SDJC" in found["no-data"].reason
    assert verdict(folder, "QABot", COSINE) == "unverified"


def test_data_of_another_edition_than_the_results(folder, no_data):
    write_qabot(no_data)
    run(folder, models=[COSINE], tasks=["QABot"])
    (no_data / "qabot/1/question.txt").write_text("another question")
    found = {f.code: f for f in findings(folder)}
    assert set(found) == {"no-data", "unverified-data", "other-data"}
    assert "of the revision unverified-" in found["no-data"].reason
    edit(  # claimed to be the paper's
        result_of(folder, "QABot", COSINE),
        lambda c: c.update(dataset_revision=mteb.get_task("QABot").metadata.revision),
    )
    assert verdict(folder, "QABot", COSINE) == "failed"


def test_an_unknown_split(folder):
    def change(content):
        content["scores"]["validation"] = content["scores"].pop("test")

    edit(result_of(folder), change)
    assert {"unknown-subset", "missing-split"} <= codes(folder)
    assert verdict(folder) == "failed"


def test_another_revision_than_the_registrys(folder, monkeypatch):
    newer = LETTERS.model_copy(update={"revision": "2"})
    monkeypatch.setitem(MODEL_REGISTRY, LETTERS_NAME, newer)
    found = findings(folder)
    assert {(f.code, f.level) for f in found} == {("other-model-revision", "note")}
    assert "mteb's registry names 2" in found[0].reason


# --- the command ---------------------------------------------------------------------------------


def test_the_command_shows_verdicts_and_findings(folder, capsys):
    assert main(["verify", str(folder)]) == 0
    shown = capsys.readouterr().out
    assert "8 verified, 0 unverified, 0 failed." in shown
    assert "Findings" not in shown
    changed_score(folder)
    assert main(["verify", str(folder)]) == 1
    captured = capsys.readouterr()
    assert "7 verified, 0 unverified, 1 failed." in captured.out
    assert captured.err.splitlines() == ["mteb-ext: 1 files have errors."]


def test_notes_that_are_alike_share_a_line(folder, capsys):
    for stamp in folder.rglob("*.stamp"):
        stamp.unlink()
    assert main(["verify", str(folder)]) == 0
    [line] = [line for line in capsys.readouterr().out.splitlines() if "no-stamp" in line]
    assert " and 7 more " in line


def test_json_for_programs(folder, capsys):
    changed_score(folder)
    assert main(["verify", str(folder), "--json"]) == 1
    content = json.loads(capsys.readouterr().out)
    assert content["failed"] is True
    names = {"model": LETTERS_NAME, "revision": "1", "task": PAIRS}
    assert {**names, "verdict": "failed"} in content["verdicts"]
    [finding] = [f for f in content["findings"] if f["code"] == "changed-score"]
    assert finding["level"] == "error"
    assert finding["file"] == str(result_of(folder))
    assert finding["remedy"].startswith("Run it again: mteb-ext run")


def test_nothing_here_and_no_folder(tmp_path, capsys):
    assert main(["verify", str(tmp_path)]) == 1
    assert "no results here" in capsys.readouterr().err
    assert main(["verify", str(tmp_path / "nowhere")]) == 1
    assert "is not a folder" in capsys.readouterr().err


def test_the_documentation_has_every_code_at_its_level():
    text = (ROOT / "docs" / "VERIFY.md").read_text("utf-8").partition("## Findings")[2]
    parts = re.split("^### ", text.partition("The repository's other rules")[0], flags=re.M)[1:]
    rows = [re.findall(r"^\| (`.*?) \|", part, flags=re.M) for part in parts]
    found = [{code for row in of_part for code in re.findall("`(.*?)`", row)} for of_part in rows]
    assert found == list(CODES.values())


def test_the_recipe_names_commands_that_there_are():
    recipe = (ROOT / "scripts" / "results_repository_ci.yml").read_text("utf-8")
    lines = re.findall(r"run: mteb-ext ((?:verify|fetch).*)", recipe)
    parsed = [command_parser().parse_args(line.split()) for line in lines]
    assert [str(p.against) for p in parsed if "against" in p] == ["None", "old"]


@pytest.mark.process
def test_verification_needs_no_torch(in_processes, tmp_path):
    run(tmp_path, models=[LETTERS_NAME], tasks=[PAIRS, QUESTIONS])
    code = f"""
        from importlib.machinery import PathFinder
        find, missing = PathFinder.find_spec, ("torch", "transformers", "sentence_transformers")
        PathFinder.find_spec = lambda name, *args: None if name in missing else find(name, *args)
        import mteb_ext
        report = mteb_ext.verify_results({str(tmp_path)!r})
        print(sorted(set(report.verdicts.values())), report.failed)
        """
    lines = "\n".join(line.strip() for line in code.strip().splitlines())
    done = subprocess.run(
        [sys.executable, "-c", lines],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == "['verified'] False", done.stderr
