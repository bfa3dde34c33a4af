"""What lies in a results folder is found once, and only regular files are read."""

from __future__ import annotations

import os
from collections import Counter
from types import SimpleNamespace

import pytest

from mteb_ext import files
from mteb_ext.analysis import gold
from mteb_ext.cli import main
from mteb_ext.cli.output import write_file
from mteb_ext.errors import DataError, MtebExtError
from mteb_ext.files import read_regular
from mteb_ext.formats.layout import LARGEST_PREDICTIONS, Place, predictions_of_result
from mteb_ext.formats.predictions import read_predictions
from mteb_ext.formats.stamp import Stamp, SuppliedFile, read_stamp
from mteb_ext.formats.walk import files_below
from mteb_ext.running.worker import _score

RESULT = '{"task_name": "T", "scores": {}}'


def found(*folders, root):
    return [str(path.relative_to(root)) for path in files_below(*folders, unreadable=print)]


def write(path, text="{}"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_hard_links_are_files_of_their_own(tmp_path):
    first = write(tmp_path / "b/1/T.json")
    (tmp_path / "a/1").mkdir(parents=True)
    os.link(first, tmp_path / "a/1/T.json")
    assert found(tmp_path, root=tmp_path) == ["a/1/T.json", "b/1/T.json"]
    assert found(tmp_path / "b", tmp_path / "a", root=tmp_path) == ["a/1/T.json", "b/1/T.json"]


def test_a_link_never_stands_for_a_file_that_is_there(tmp_path):
    original = write(tmp_path / "r/b/1/T.json")
    outside = write(tmp_path / "elsewhere/1/U.json")
    (tmp_path / "r/a").mkdir()
    (tmp_path / "r/a/T.json").symlink_to(original)
    (tmp_path / "r/a/1").symlink_to(original.parent)
    (tmp_path / "r/a/circle").symlink_to(tmp_path / "r")
    (tmp_path / "r/c").symlink_to(outside.parent)
    (tmp_path / "r/d").symlink_to(outside.parent)
    (tmp_path / "r/e").symlink_to(tmp_path / "nothing")
    assert found(tmp_path / "r", tmp_path / "r/b", root=tmp_path) == ["r/b/1/T.json", "r/c/U.json"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_pipes_and_devices_are_named_and_never_opened(tmp_path):
    os.mkfifo(tmp_path / "X_predictions.json")
    (tmp_path / "T.json").symlink_to("/dev/zero")
    said = []
    assert not files_below(tmp_path, unreadable=lambda path, error: said.append(path.name))
    assert sorted(said) == ["T.json", "X_predictions.json"]
    for read in (read_predictions, read_stamp):
        for name in ("X_predictions.json", "T.json"):
            with pytest.raises(DataError, match="not a regular file"):
                read(tmp_path / name)


def test_a_file_above_the_limit_is_not_read(tmp_path):
    large = tmp_path / "T_predictions.json"
    with large.open("wb") as file:
        file.truncate(2 * LARGEST_PREDICTIONS)
    with pytest.raises(DataError, match="larger than 1024 MB"):
        read_predictions(large)
    small = write(tmp_path / "s", "abc")
    assert (read_regular(small, 3), read_regular(small, 2)) == (b"abc", None)


@pytest.mark.parametrize("name", ["model_meta.json", "T_predictions.json", "T.stamp", "T.json"])
def test_output_never_replaces_a_file_of_a_results_folder(tmp_path, name):
    held = write(tmp_path / name, RESULT)
    link = tmp_path / "page.html"
    link.symlink_to(held)
    for path in (held, link):
        with pytest.raises(MtebExtError, match="belongs to a folder of results"):
            write_file(path, "new")
    assert held.read_text() == RESULT
    write_file(write(tmp_path / "apart/other.json"), "new")


def test_a_stamp_keeps_names_that_are_not_utf8_and_supplied_files(tmp_path):
    texts = ("task", "dataset_revision", "model_name", "model_revision")
    none = ("protocol", "protocol_version", "predictions_sha256", "result_sha256")
    stamp = Stamp(
        **dict.fromkeys(texts, "a"),
        **dict.fromkeys(none),
        **{name: {} for name in ("libraries", "hardware", "data_fingerprints")},
        model={"model": "mod\udce8le"},
        command=["r\udce8"],
        seconds=1.5,
        supplied=[SuppliedFile("run.txt", "0" * 64)],
    )
    stamp.write(tmp_path / "m" / "T.stamp")
    read = read_stamp(tmp_path / "m" / "T.stamp")
    assert (read.command, read.model) == (["r\\udce8"], {"model": "mod\\udce8le"})
    assert read.supplied == stamp.supplied


def test_the_layout_of_experiments(tmp_path):
    path = tmp_path / "results/m/1/experiments/k/T.json"
    assert Place.of(path) == Place("m", "1", "k")
    other = tmp_path / "predictions/m/1/experiments/k/T_predictions.json"
    assert predictions_of_result(path) == other


def test_the_score_of_a_run_is_of_its_own_splits_and_subsets():
    def entries(**scores):
        return [{"hf_subset": name, "main_score": value} for name, value in scores.items()]

    held = SimpleNamespace(scores={"dev": entries(a=0.1), "test": entries(a=0.5, b=0.7, c=0.0)})
    task = SimpleNamespace(eval_splits=["test"], hf_subsets=["a", "b"])
    assert _score(task, held) == pytest.approx(0.6)


def test_a_leaderboard_opens_each_file_once_and_loads_each_task_once(tmp_path, monkeypatch):
    """Results, predictions, stamps and models' metadata, by all that a leaderboard computes."""
    place = tmp_path / "out"
    models = ["mteb-ext/token-cosine", "mteb-ext/sentence-bleu"]
    tasks = ["JACSTS.sample", "WikiQA.sample"]
    run = ["run", "-m", *models, "-t", *tasks, "--output-folder", str(place)]
    assert main(run) == 0
    opened, loaded = Counter(), Counter()
    really_open, really_load = files.open_regular, gold.load_data

    def counted_open(path):
        opened[path] += 1
        return really_open(path)

    def counted_load(task):
        loaded[task.metadata.name] += 1
        really_load(task)

    monkeypatch.setattr(files, "open_regular", counted_open)
    monkeypatch.setattr("mteb_ext.analysis.folder.load_data", counted_load)
    assert main(["leaderboard", str(place), "-o", str(tmp_path / "site")]) == 0
    kinds = Counter(path.name.partition("_")[2] or path.suffix for path in opened)
    assert kinds == {
        "predictions.json": 4,
        ".json": 4,
        ".stamp": 4,
        "meta.json": 2,
        "settings.jsonl": 2,
    }
    assert set(opened.values()) == {1}
    assert loaded == {"JACSTS.sample": 1, "WikiQA.sample": 1}
