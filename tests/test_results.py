"""Result files as one table: what is read, what is named and left out, and what a report takes."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path

import mteb
import pytest

import mteb_ext
from mteb_ext.analysis.beside import published_standings
from mteb_ext.analysis.summary import headlines, label_runs, not_run, over_models
from mteb_ext.errors import DataError

WIKIQA = {  # the numbers are made up, the keys are those of a result
    "map": 0.5,
    "mrr": 0.625,
    "map_both": 0.25,
    "map_both_later_first": 0.125,
    "ci95_low": 0.375,
    "ci95_high": 0.75,
    "num_queries": 243,
    "num_queries_with_ties": 7,
    "num_queries_both": 237,
    "main_score": 0.5,
    "hf_subset": "default",
    "languages": ["eng-Latn"],
    "mteb_version": "2.26.24",
}
TRACKS = ("1-ar-ar", "2-ar-en", "3-es-es", "4a-es-en", "4b-es-en", "5-en-en")


def write_result(folder, task, scores, *, model="test/model", revision="1", data=None, meta=True):
    """Write a result file as mteb does, and return its path."""
    place = folder / "results" / model.replace("/", "__") / revision
    place.mkdir(parents=True, exist_ok=True)
    if meta:
        (place / "model_meta.json").write_text(json.dumps({"name": model, "revision": revision}))
    content = {
        "dataset_revision": data or revision_of(task),
        "task_name": task,
        "mteb_version": "2.26.24",
        "scores": scores,
        "evaluation_time": 1.5,
    }
    path = place / f"{task}.json"
    path.write_text(json.dumps(content))
    return path


def revision_of(task):
    import mteb

    return mteb.get_task(task).metadata.revision


def sts(subset, pearson, **others):
    return {"hf_subset": subset, "pearson": pearson, "main_score": pearson, **others}


def test_a_result_is_a_row_a_metric(tmp_path):
    path = write_result(tmp_path, "WikiQA", {"test": [WIKIQA]})
    frame = mteb_ext.load_results(tmp_path)
    assert list(frame["metric"]) == ["map", "mrr", "map_both", "map_both_later_first"]
    assert list(frame["value"]) == [0.5, 0.625, 0.25, 0.125]
    assert list(frame["n"]) == [243, 243, 237, 237]
    assert list(frame["headline"]) == [True, False, False, False]
    assert frame["low"].tolist()[0] == 0.375
    assert frame["high"].tolist()[0] == 0.75
    assert frame[["low", "high"]][1:].isna().all(axis=None)
    first = frame.iloc[0]
    assert (first.model, first.revision, first.task) == ("test/model", "1", "WikiQA")
    assert (first.split, first.subset, first.subsets, first.all_subsets) == (
        "test",
        "default",
        1,
        1,
    )
    assert (first.edition, first.mteb_version) == ("paper's", "2.26.24")
    assert first.dataset_revision == revision_of("WikiQA")
    assert first.path == str(path)


def test_the_mean_over_subsets_is_a_row_of_its_own(tmp_path):
    entries = [sts(track, 0.125 * i) for i, track in enumerate(TRACKS, 1)]
    entries[-1] |= {"headline_ci95_low": 0.25, "headline_ci95_high": 0.5}
    write_result(tmp_path, "STS17SemEval", {"test": entries})
    frame = mteb_ext.load_results(tmp_path)
    assert list(frame["subset"]) == [*TRACKS, ""]
    mean = frame.iloc[-1]
    assert (mean.metric, mean.value) == ("pearson", 0.4375)  # (1 + ... + 6) / 6 / 8
    assert (mean.low, mean.high, mean.n) == (0.25, 0.5, 6 * 250)
    assert (mean.subsets, mean.all_subsets) == (6, 6)
    assert list(frame["headline"]) == [False] * 6 + [True]
    assert list(frame["n"][:6]) == [250] * 6


def test_a_mean_over_some_subsets_says_so(tmp_path):
    write_result(tmp_path, "STS17SemEval", {"test": [sts("3-es-es", 0.5)]})
    (row,) = headlines(mteb_ext.load_results(tmp_path)).itertuples()
    assert (row.subset, row.value, row.subsets, row.all_subsets) == ("", 0.5, 1, 6)


def test_splits_are_apart(tmp_path):
    dev = {**WIKIQA, "map": 0.75, "main_score": 0.75}
    write_result(tmp_path, "WikiQA", {"test": [WIKIQA], "dev": [dev]})
    found = headlines(mteb_ext.load_results(tmp_path))
    assert dict(zip(found["split"], found["value"], strict=True)) == {"test": 0.5, "dev": 0.75}


@pytest.mark.parametrize(
    ("task", "data", "edition"),
    [
        ("WikiQA", None, "paper's"),
        ("WikiQA.sample", "sample", "sample"),
        ("QABot", "unverified-0123456789abcdef", "another edition"),
        ("STS12", "0" * 40, "another edition"),
    ],
)
def test_editions(tmp_path, task, data, edition):
    main = {"STS12": "cosine_spearman"}.get(task, "map")
    entry = {"hf_subset": "default", main: 0.5, "main_score": 0.5}
    write_result(tmp_path, task, {"test": [entry]}, data=data)
    assert set(mteb_ext.load_results(tmp_path)["edition"]) == {edition}


def test_results_of_mtebs_own_tasks(tmp_path):
    entry = {"hf_subset": "default", "cosine_spearman": 0.5, "pearson": math.nan, "main_score": 0.5}
    write_result(tmp_path, "STS12", {"test": [entry]})
    frame = mteb_ext.load_results(tmp_path)
    assert list(frame["metric"]) == ["cosine_spearman", "pearson"]
    assert list(frame["edition"]) == ["mteb's"] * 2
    assert list(frame["headline"]) == [True, False]
    assert frame["n"].isna().all()


def test_results_of_a_task_that_is_not_known_here_are_kept(tmp_path, caplog):
    write_result(tmp_path, "SomebodysTask", {"test": [sts("default", 0.5)]}, data="7")
    frame = mteb_ext.load_results(tmp_path)
    assert list(frame["metric"]) == ["main_score", "pearson"]
    assert list(frame["edition"]) == ["unknown"] * 2
    (record,) = caplog.records
    assert "SomebodysTask" in record.getMessage()
    assert "MTEB_EXT_PATH" in record.getMessage()


BAD_SCORES = {
    "no entries": {"test": []},
    "no list": {"test": {"default": 0.5}},
    "no subset": {"test": [{"main_score": 0.5}]},
    "no score": {"test": [{"hf_subset": "default"}]},
    "nan": {"test": [sts("default", math.nan)]},
    "text": {"test": [{"hf_subset": "default", "main_score": "0.5"}]},
    "twice": {"test": [sts("default", 0.5), sts("default", 0.25)]},
    "contradiction": {"test": [{**WIKIQA, "main_score": 0.9}]},
    "second of two": {"dev": [WIKIQA], "test": [{**WIKIQA, "main_score": 0.9}]},
}


@pytest.mark.parametrize("scores", BAD_SCORES.values(), ids=BAD_SCORES)
def test_a_result_of_another_form_is_named_and_the_others_are_read(tmp_path, caplog, scores):
    bad = write_result(tmp_path, "WikiQA", scores)
    write_result(tmp_path, "TRECQA", {"test": [WIKIQA]})
    assert set(mteb_ext.load_results(tmp_path)["task"]) == {"TRECQA"}
    (record,) = caplog.records
    assert f"{bad} is left out" in record.getMessage()


BAD_FILES = {
    "empty": b"",
    "cut": b'{"task_name": "WikiQA", "scores": {"test": [{"main',
    "no UTF-8": b'{"task_name": "\xff"}',
    "too deep": b"[" * 200_000,
    "a list": b"[1, 2]",
    "other content": b'{"name": "a configuration"}',
    "no revision": b'{"task_name": "WikiQA", "scores": {}}',
    "digits": b'{"task_name": "WikiQA", "scores": {}, "dataset_revision": ' + b"9" * 5000 + b"}",
}


@pytest.mark.parametrize("content", BAD_FILES.values(), ids=BAD_FILES)
def test_a_damaged_or_foreign_file_is_named_and_the_others_are_read(tmp_path, caplog, content):
    path = write_result(tmp_path, "TRECQA", {"test": [WIKIQA]}).with_name("WikiQA.json")
    path.write_bytes(content)
    assert set(mteb_ext.load_results(tmp_path)["task"]) == {"TRECQA"}
    (record,) = caplog.records
    assert f"{path} is left out" in record.getMessage()


def test_a_number_beyond_all_floats_is_no_main_score_and_no_count(tmp_path, caplog):
    entry = {**WIKIQA, "num_queries": 10**400, "mrr": 10**400}
    write_result(tmp_path, "WikiQA", {"test": [entry]})
    frame = mteb_ext.load_results(tmp_path)
    assert frame["n"].isna()[0]
    assert frame["value"][1] == math.inf
    write_result(tmp_path, "WikiQA", {"test": [{**WIKIQA, "main_score": 10**400}]})
    assert mteb_ext.load_results(tmp_path).empty


def test_any_folder_on_the_way_will_do_and_a_file_counts_once(tmp_path):
    path = write_result(tmp_path, "WikiQA", {"test": [WIKIQA]})
    whole = mteb_ext.load_results(tmp_path)
    for folder in (tmp_path / "results", path.parent.parent, path.parent):
        assert mteb_ext.load_results(folder).equals(whole)
    assert mteb_ext.load_results(tmp_path, path.parent, str(tmp_path)).equals(whole)


def test_several_folders_are_one_table(tmp_path):
    for name in ("b", "a"):
        write_result(tmp_path / name, "WikiQA", {"test": [WIKIQA]}, model=f"test/{name}")
    frame = mteb_ext.load_results(tmp_path / "b", tmp_path / "a")
    assert list(dict.fromkeys(frame["model"])) == ["test/a", "test/b"]
    assert frame.equals(mteb_ext.load_results(tmp_path / "a", tmp_path / "b"))


def test_a_missing_folder_is_an_error_and_is_not_made(tmp_path):
    with pytest.raises(DataError, match="nowhere is not a folder"):
        mteb_ext.load_results(tmp_path / "nowhere")
    assert not list(tmp_path.iterdir())


def test_an_empty_folder_gives_an_empty_table(tmp_path):
    frame = mteb_ext.load_results(tmp_path)
    assert frame.empty
    assert list(frame.columns)[:3] == ["model", "revision", "task"]


def test_prediction_files_and_metadata_are_no_results(tmp_path, caplog):
    path = write_result(tmp_path, "WikiQA", {"test": [WIKIQA]})
    path.with_name("WikiQA_predictions.json").write_text("{}")
    assert len(mteb_ext.load_results(tmp_path)) == 4
    assert not caplog.records


def test_a_file_named_after_another_task_is_left_out(tmp_path, caplog):
    path = write_result(tmp_path, "WikiQA", {"test": [WIKIQA]})
    path.rename(path.with_name("TRECQA.json"))
    assert mteb_ext.load_results(tmp_path).empty
    assert "TRECQA.json is left out: holds a result of WikiQA: rename it" in caplog.text


def test_a_score_that_cannot_be_is_left_out(tmp_path, caplog):
    score = {"main_score": 7.5, "map": 7.5}
    write_result(tmp_path, "WikiQA", {"test": [{**WIKIQA, **score}]})
    assert mteb_ext.load_results(tmp_path).empty
    assert "main_score of test, default is 7.5, and can be 1 at most" in caplog.text


def test_the_interval_of_all_subsets_is_none_of_some(tmp_path):
    tracks = mteb.get_task("STS17SemEval").metadata.hf_subsets
    entries = [
        {"hf_subset": track, "languages": [], "main_score": 0.5, "pearson": 0.5} for track in tracks
    ]
    entries[-1] |= {"headline_ci95_low": 0.4, "headline_ci95_high": 0.6}
    for scores, low in ((entries, 0.4), (entries[1:], None)):
        write_result(tmp_path, "STS17SemEval", {"test": scores})
        frame = mteb_ext.load_results(tmp_path)
        [found] = frame[frame["headline"]]["low"]
        assert found == low or (low is None and math.isnan(found))


def test_cells_that_are_being_run_are_no_results(tmp_path):
    write_result(tmp_path, "WikiQA", {"test": [WIKIQA]})
    write_result(
        tmp_path / "results" / ".running" / "cell", "WikiQA", {"test": [WIKIQA]}, model="x"
    )
    assert set(mteb_ext.load_results(tmp_path)["model"]) == {"test/model"}


@pytest.fixture
def deeper_than_a_path(tmp_path, monkeypatch):
    """Folders in folders, made step by step: the whole path is longer than the system allows."""
    monkeypatch.chdir(tmp_path)
    for _ in range(110):
        Path("a-folder-in-a-folder-in-a-folder-in-a-folder").mkdir()
        os.chdir("a-folder-in-a-folder-in-a-folder-in-a-folder")
    yield
    for _ in range(110):
        os.chdir("..")
        Path("a-folder-in-a-folder-in-a-folder-in-a-folder").rmdir()


@pytest.mark.slow
def test_folders_deeper_than_a_path_may_be_long(tmp_path, deeper_than_a_path, caplog):
    write_result(tmp_path, "WikiQA", {"test": [WIKIQA]})
    assert len(mteb_ext.load_results(tmp_path)) == 4
    assert "is left out: the file cannot be read" in caplog.text


def test_folders_in_a_circle(tmp_path):
    write_result(tmp_path, "WikiQA", {"test": [WIKIQA]})
    (tmp_path / "results" / "again").symlink_to(tmp_path)
    (tmp_path / "results" / "nothing.json").symlink_to(tmp_path / "nowhere")
    assert len(mteb_ext.load_results(tmp_path)) == 4


def test_a_model_without_metadata_has_its_folders_names(tmp_path, caplog):
    path = write_result(tmp_path, "WikiQA", {"test": [WIKIQA]}, model="org/name", meta=False)
    assert mteb_ext.load_results(tmp_path)["model"][0] == "org/name"
    path.with_name("model_meta.json").write_text("{")
    frame = mteb_ext.load_results(tmp_path)
    assert (frame["model"][0], frame["revision"][0]) == ("org/name", "1")
    (record,) = caplog.records
    assert "model_meta.json is left out" in record.getMessage()


def test_runs_with_other_options_are_other_models(tmp_path):
    path = write_result(tmp_path, "WikiQA", {"test": [WIKIQA]})
    folder = path.parent / "experiments" / "dim_64"
    folder.mkdir(parents=True)
    (folder / "WikiQA.json").write_text(path.read_text())
    meta = {"name": "test/model", "revision": "1", "experiment_kwargs": {"truncate_dim": 64}}
    (folder / "model_meta.json").write_text(json.dumps(meta))
    frame = mteb_ext.load_results(tmp_path)
    assert set(frame["model"]) == {"test/model", "test/model (truncate_dim=64.0)"}


def test_names_that_are_no_text(tmp_path):
    path = write_result(tmp_path, "WikiQA", {"test": [WIKIQA]})
    path.with_name("model_meta.json").write_text(r'{"name": "a\ud800b", "revision": null}')
    frame = mteb_ext.load_results(tmp_path)
    assert (frame["model"][0], frame["revision"][0]) == (r"a\ud800b", "1")


def test_a_run_is_named_by_as_little_as_tells_it_apart(tmp_path):
    write_result(tmp_path / "x", "WikiQA", {"test": [WIKIQA]}, model="test/one")
    assert set(label_runs(mteb_ext.load_results(tmp_path))) == {"test/one"}
    write_result(tmp_path / "y", "TRECQA", {"test": [WIKIQA]}, model="test/one")
    write_result(tmp_path, "WikiQA", {"test": [WIKIQA]}, model="test/two", revision="1")
    write_result(tmp_path, "WikiQA", {"test": [WIKIQA]}, model="test/two", revision="2")
    paths = [
        write_result(tmp_path / z, "WikiQA", {"test": [WIKIQA]}, model="test/three").parent
        for z in ("x", "y")
    ]
    assert set(label_runs(mteb_ext.load_results(tmp_path))) == {
        "test/one",  # two folders, and nothing in both
        "test/two, revision 1",
        "test/two, revision 2",
        f"test/three in {paths[0]}",
        f"test/three in {paths[1]}",
    }


def test_over_models_the_best_stands_first_and_other_data_apart(tmp_path):
    for name, score in {"low": 0.25, "high": 0.75}.items():
        entry = {**WIKIQA, "map": score, "main_score": score}
        write_result(tmp_path, "WikiQA", {"test": [entry]}, model=name)
        write_result(tmp_path, "QABot", {"test": [entry]}, model=name, data=f"unverified-{name}")
    ranked = over_models(headlines(mteb_ext.load_results(tmp_path)))
    assert list(zip(ranked["task"], ranked["run"], strict=True)) == [
        ("QABot", "high"),
        ("QABot", "low"),
        ("WikiQA", "high"),
        ("WikiQA", "low"),
    ]
    assert ranked["dataset_revision"].nunique() == 3


def test_tasks_without_a_result_are_named(tmp_path):
    write_result(tmp_path, "JACSTS", {"test": [sts("default", 0.5, spearman=0.5)]}, model="ours")
    entry = {"hf_subset": "default", "cosine_spearman": 0.5, "main_score": 0.5}
    write_result(tmp_path, "STS12", {"test": [entry]}, model="other")
    missing = not_run(headlines(mteb_ext.load_results(tmp_path)))
    assert "QABot" in missing["ours"]
    assert "JACSTS" not in missing["ours"]
    assert "other" not in missing


def test_scores_beside_published_ones(tmp_path):
    # Above one of the four settled numbers of clean-237: CNN .6190, LCLR .5993, .5099, .4891.
    entry = {**WIKIQA, "map_both_later_first": 0.5099001, "mrr_both_later_first": 0.5}
    write_result(tmp_path, "WikiQA", {"test": [entry], "dev": [WIKIQA]})
    write_result(tmp_path, "WikiQA", {"test": [entry]}, model="edited", data="another")
    frame = published_standings(mteb_ext.load_results(tmp_path))
    assert set(frame["run"]) == {"test/model"}
    (row,) = frame[(frame["variant"] == "clean-237") & (frame["metric"] == "map")].itertuples()
    assert (row.value, row.best, row.best_system) == (0.5099001, 0.6190, "CNN")
    assert (row.better, row.of) == (2, 4)  # .5099 is printed alike, and is not better
    assert row.ambiguous == 1


def test_a_result_without_a_key_of_a_variant_is_named(tmp_path, caplog):
    entry = {"hf_subset": "default", "map": 0.5, "mrr": 0.5, "main_score": 0.5}
    path = write_result(tmp_path, "WikiQA", {"test": [entry]})
    write_result(tmp_path, "TRECQA", {"test": [{**entry, "map_raw": 0.5, "mrr_raw": 0.5}]})
    frame = published_standings(mteb_ext.load_results(tmp_path))
    assert set(frame["variant"]) == {"no-all-negative-243", "clean-68"}
    (record,) = caplog.records
    said = "map_both_later_first or mrr_both_later_first, and so no score of the published variant"
    assert f"{path} holds no {said} clean-237" in record.getMessage()


def test_the_mean_stands_beside_published_means_only_if_it_is_complete(tmp_path):
    entries = [sts(track, 0.5) for track in TRACKS]
    write_result(tmp_path, "STS17SemEval", {"test": entries})
    frame = published_standings(mteb_ext.load_results(tmp_path))
    assert set(frame["variant"]) == {"per-track", "mean-of-6"}
    write_result(tmp_path, "STS17SemEval", {"test": entries[1:]})
    frame = published_standings(mteb_ext.load_results(tmp_path))
    assert set(frame["variant"]) == {"per-track"}


@pytest.mark.parametrize("meta", [{"name": None}, {"name": " "}, {"name": "", "revision": ""}, {}])
def test_a_model_that_is_named_by_nothing_has_its_folders_names(tmp_path, meta, monkeypatch):
    path = write_result(tmp_path, "WikiQA", {"test": [WIKIQA]}, model="org/name")
    path.with_name("model_meta.json").write_text(json.dumps(meta))
    monkeypatch.chdir(path.parent)
    for folder in (tmp_path, "."):
        frame = mteb_ext.load_results(folder)
        assert (frame["model"][0], frame["revision"][0]) == ("org/name", "1")


def test_a_name_that_stands_twice_in_a_result_loses_nothing_in_silence(tmp_path, caplog):
    path = write_result(tmp_path, "WikiQA", {"test": [WIKIQA]})
    path.write_text(path.read_text().replace('"mrr":', '"map": 0.25, "mrr":'))
    assert mteb_ext.load_results(tmp_path).empty
    assert f"{path} is left out: the file is damaged: a name occurs twice" in caplog.text


def test_no_folder_is_an_error_and_an_empty_one_is_named(tmp_path, caplog):
    with pytest.raises(mteb_ext.DataError, match="needs the folders"):
        mteb_ext.load_results()
    with pytest.raises(mteb_ext.DataError, match="3 is no folder"):
        mteb_ext.load_results(3)
    assert mteb_ext.load_results(tmp_path).empty
    assert f"{tmp_path}: no result files here." in caplog.text
