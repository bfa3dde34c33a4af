"""The rules of mteb's own repository of results on folders that our runs made, kept and broken."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest
from datasets import Dataset, DatasetDict
from mteb.abstasks.sts import AbsTaskSTS
from stock_tasks import metadata
from test_running import COSINE, run
from test_verifying import edit

import mteb_ext
from mteb_ext.cli import main

MODEL, TASK = "mteb/baseline-random-encoder", "StockLanguages"


class StockLanguages(AbsTaskSTS):
    """A task as mteb has them, of two subsets and two splits."""

    metadata = metadata(TASK, "STS", "cosine_spearman").model_copy(
        update={
            "eval_langs": {"x": ["eng-Latn"], "y": ["eng-Latn", "deu-Latn"]},
            "eval_splits": ["dev", "test"],
        }
    )
    min_score, max_score = 0, 5

    def load_data(self, **kwargs):
        pairs = {"sentence1": list("abcd"), "sentence2": list("efgh"), "score": [0, 1, 2, 5]}
        data = Dataset.from_dict(pairs)
        self.dataset = {name: DatasetDict({"dev": data, "test": data}) for name in "xy"}
        self.data_loaded = True


@pytest.fixture(scope="module")
def known():
    """The task, as if mteb had it."""
    registry = vars(sys.modules["mteb.get_tasks"])["_TASKS_REGISTRY"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(registry, TASK, StockLanguages)
        yield


@pytest.fixture(scope="module")
def whole(known, tmp_path_factory):
    """A run of a model of mteb's on a task of mteb's: never written to."""
    folder = tmp_path_factory.mktemp("rules") / "out"
    assert run(folder, models=[MODEL], tasks=[TASK]) == 0
    return folder


@pytest.fixture
def folder(whole, tmp_path):
    """A copy of the run, without stamps: a pull request has none."""
    copy = Path(shutil.copytree(whole, tmp_path / "out"))
    for stamp in copy.rglob("*.stamp"):
        stamp.unlink()
    return copy


def place(folder):
    [path] = folder.glob(f"results/*/*/{TASK}.json")
    return path.parent


def result(folder):
    return place(folder) / f"{TASK}.json"


def found(*folders, **options):
    return mteb_ext.verify_results(folders, **options).findings


def codes(*folders, **options):
    return {finding.code for finding in found(*folders, **options)}


@pytest.mark.slow
def test_what_mteb_takes(folder, whole, known):
    assert codes(whole) == codes(folder) == set()
    assert codes(folder, against=whole) == set()
    [verdict] = mteb_ext.verify_results(folder).verdicts.values()
    assert verdict == "unverified"  # the rules are all that is checked of mteb's tasks


def test_predictions_of_mtebs_tasks_are_those_of_the_stamp(whole, tmp_path):
    copy = Path(shutil.copytree(whole, tmp_path / "copy"))
    [path] = copy.rglob("*_predictions.json")
    path.write_text(path.read_text() + " ")
    [finding] = found(copy)
    assert (finding.level, finding.code, finding.file) == ("error", "changed-predictions", path)


def no_metadata(folder):
    (place(folder) / "model_meta.json").unlink()
    return "error", "no-model-meta", "model_meta.json is missing"


def no_revision(folder):
    here = place(folder)
    edit(here / "model_meta.json", lambda c: c.update(revision=None))
    here.rename(here.with_name("no_revision_available"))
    return "error", "no-revision", "revision is no_revision_available"


def no_such_model(folder):
    here = place(folder)
    edit(here / "model_meta.json", lambda c: c.update(name="nobody/nothing"))
    here.parent.rename(here.parent.with_name("nobody__nothing"))
    return "submission", "model-not-in-mteb", "mteb itself has no model nobody/nothing"


def another_models_folder(folder):
    here = place(folder)
    here.parent.rename(here.parent.with_name("intfloat__e5-base"))
    return "error", "wrong-folder", "the folder is intfloat__e5-base"


def another_revisions_folder(folder):
    here = place(folder)
    here.rename(here.with_name("9"))
    return "error", "wrong-folder", "-random-encoder/9"


def no_such_task(folder):
    edit(result(folder), lambda c: c.update(task_name="StockLanguage"))
    result(folder).rename(place(folder) / "StockLanguage.json")
    return "error", "unknown-task", "there is no task 'StockLanguage'"


def another_tasks_name(folder):
    result(folder).rename(place(folder) / "STS12.json")
    return "error", "wrong-name", f"a result of {TASK}"


def eleven_megabytes(folder):
    result(folder).write_text(result(folder).read_text() + " " * (10 << 20))
    return "error", "large-file", "10.0 MB"


def old_mteb(folder):
    edit(result(folder), lambda c: c.update(mteb_version="1.38.0"))
    return "submission", "mteb-version", "1.38.0"


def no_version(folder):
    edit(result(folder), lambda c: c.update(mteb_version=None))
    return "submission", "mteb-version", "missing"


def no_settings(folder):
    (place(folder) / "run_settings.jsonl").unlink()
    return "submission", "run-settings", f"how {TASK} (dev, x) was run, nor 3 more"


def settings_of_a_part(folder):
    settings = {"task": TASK, "splits": ["dev", "test"], "subsets": ["x"]}
    older = {"task": TASK, "split": "dev", "subset": "y"}
    lines = [json.dumps(line) for line in (settings, older)]
    (place(folder) / "run_settings.jsonl").write_text("\n".join(lines))
    return "submission", "run-settings", f"how {TASK} (test, y) was run."


def another_revision(folder):
    other = shutil.copytree(place(folder), place(folder).with_name("9"))
    edit(other / "model_meta.json", lambda c: c.update(revision="9"))
    return "submission", "several-revisions", "by the revisions"


BROKEN = (
    *(no_metadata, no_revision, no_such_model, another_models_folder, another_revisions_folder),
    *(no_such_task, another_tasks_name, eleven_megabytes, old_mteb, no_version),
    *(no_settings, settings_of_a_part, another_revision),
)


@pytest.mark.parametrize("breach", BROKEN, ids=[breach.__name__ for breach in BROKEN])
def test_a_broken_rule(folder, breach):
    level, code, reason = breach(folder)
    broken = [f for f in found(folder) if f.code == code]
    assert broken
    assert {f.level for f in broken} == {level}
    assert any(reason in f.reason for f in broken)


def removed_split(content):
    del content["scores"]["dev"]
    return "removed-split", "its split dev"


def removed_subset(content):
    content["scores"]["test"].pop(0)
    return "removed-subset", "its subset test, x"


def removed_language(content):
    content["scores"]["test"][1]["languages"].remove("deu-Latn")
    return "removed-language", "deu-Latn of test, y"


def higher(content):
    entry = content["scores"]["test"][1]
    entry["main_score"] = entry["cosine_spearman"] = entry["main_score"] + 0.00101
    return "score-change", "the main score of test, y was"


def lower(content):
    entry = content["scores"]["dev"][0]
    entry["main_score"] = entry["cosine_spearman"] = entry["main_score"] - 0.00101
    return "score-change", "the main score of dev, x was"


@pytest.mark.parametrize("change", [removed_split, removed_subset, removed_language, higher, lower])
def test_what_was_removed_or_changed_since(folder, whole, change, capsys):
    said = []
    edit(result(folder), lambda content: said.extend(change(content)))
    assert codes(folder) == set()  # alone it is as good as before
    [finding] = found(folder, against=whole)
    assert (finding.level, finding.code) == ("error", said[0])
    assert said[1] in finding.reason
    assert main(["verify", str(folder), "--against", str(whole)]) == 1
    assert said[0] in capsys.readouterr().out


def test_a_main_score_may_change_by_a_thousandth(folder, whole):
    def change(content):
        entry = content["scores"]["test"][1]
        entry["main_score"] = entry["cosine_spearman"] = round(entry["main_score"] + 0.001, 6)

    edit(result(folder), change)
    assert codes(folder, against=whole) == set()


def test_what_is_added_is_no_change(folder, whole, tmp_path):
    assert codes(whole, against=folder) == set()
    result(folder).unlink()
    assert codes(whole, against=folder) == set()


def test_an_old_result_may_lack_a_revision(folder, tmp_path):
    no_revision(folder)
    before = shutil.copytree(folder, tmp_path / "before")
    assert "no-revision" not in codes(folder, against=before)


@pytest.mark.slow
def test_our_own_tasks_and_models_are_not_for_it_and_fine(tmp_path, no_data):
    run(tmp_path, models=[COSINE], tasks=["WikiQA.sample"])
    levels = {f.code: f.level for f in found(tmp_path)}
    assert levels == {
        "sample-data": "error",
        "task-not-in-mteb": "submission",
        "model-not-in-mteb": "submission",
    }


def test_a_damaged_copy_of_before_is_named(folder, tmp_path, capsys):
    before = shutil.copytree(folder, tmp_path / "before")
    result(before).write_text("{")
    [finding] = found(folder, against=before)
    assert (finding.level, finding.code) == ("warning", "no-comparison")
    assert str(result(before)) in finding.reason
    assert main(["verify", str(folder), "--against", str(tmp_path / "nowhere")]) == 1
    assert "nowhere is not a folder" in capsys.readouterr().err


@pytest.mark.parametrize("below", ["", "results"])
def test_where_what_was_before_may_be(folder, whole, below):
    edit(result(folder), removed_split)
    assert codes(folder, against=whole / below) == {"removed-split"}
