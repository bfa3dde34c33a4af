"""Runs on a real Ray cluster of two nodes on this machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from test_running import COSINE, COUNT, RANKING, WEIGHTED, found, one_that_kills_its_process, run

import mteb_ext
from mteb_ext.errors import RunError
from mteb_ext.running.models import ModelSpec
from mteb_ext.running.on_ray import RayCluster, _do, _write
from mteb_ext.running.plan import Options
from mteb_ext.running.store import Store
from mteb_ext.running.worker import Job

MODELS = [COSINE, COUNT, WEIGHTED]


@pytest.mark.slow
def test_files_come_back_where_a_worker_does_not_see_the_output_folder(tmp_path, no_data):
    store = Store(tmp_path / "out", tmp_path / "predictions")
    store.check()
    job = Job(0, ModelSpec(COSINE), tuple(RANKING), Options(), store)
    deliveries = list(_do(job, tmp_path / "not" / "here"))
    assert [d.event.status for d in deliveries] == ["started", "done"] * 2
    assert not list(store.folder.rglob("*.json"))
    for delivery in deliveries:
        _write(delivery.files, store)
    run(tmp_path / "whole")
    assert found(store.folder)[0] == found(tmp_path / "whole")[0]
    names = {path.name for path in (tmp_path / "predictions").rglob("*.json")}
    assert names == {f"{task}_predictions.json" for task in RANKING}
    assert len(list(store.folder.rglob("*.stamp"))) == 2
    assert len(list(store.folder.rglob("*.log"))) == 2
    report = mteb_ext.verify_results([store.folder, tmp_path / "predictions"])
    assert {f.code for f in report.findings if f.level == "error"} == {"sample-data"}
    assert "run-settings" not in {f.code for f in report.findings}


def test_a_cluster_that_does_not_answer():
    pytest.importorskip("ray")
    for address in ("127.0.0.1:1", "ray://127.0.0.1:1"):
        with pytest.raises(RunError, match=r"127\.0\.0\.1:1 cannot be reached"):
            RayCluster(address, 1, 0)


def test_without_ray_its_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(RunError, match=r"mteb-ext\[ray\]"):
        RayCluster("local", 1, 0)


@pytest.fixture(scope="module")
def cluster():
    """The address of a cluster of two nodes with a CPU each."""
    ray = pytest.importorskip("ray")
    utilities = pytest.importorskip("ray.cluster_utils")
    there = utilities.Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    there.add_node(num_cpus=1)
    there.wait_for_nodes()
    yield there.address
    ray.shutdown()
    there.shutdown()


@pytest.fixture
def folder(tmp_path, no_data):
    return tmp_path / "out"


@pytest.mark.ray
@pytest.mark.process
def test_a_cluster_finds_what_one_process_does(folder, tmp_path, cluster, capsys):
    assert run(folder, "--ray", cluster, models=MODELS) == 0
    assert capsys.readouterr().out.count(": map ") == 6
    run(tmp_path / "one", models=MODELS)
    assert found(folder) == found(tmp_path / "one")
    assert run(folder, "--ray", cluster, models=MODELS) == 0
    assert capsys.readouterr().out.count("finished before") == 6


@pytest.mark.ray
@pytest.mark.process
def test_a_cluster_that_has_too_little(folder, cluster, capsys):
    assert run(folder, "--ray", cluster, "--num-gpus", "1") == 1
    assert "has 2 CPUs and 0 GPUs, and a job takes 1 and 1" in capsys.readouterr().err


@pytest.mark.ray
@pytest.mark.process
def test_a_folder_that_workers_do_not_see(folder, tmp_path, cluster, monkeypatch):
    monkeypatch.setattr(RayCluster, "_show", lambda *_: None)
    assert run(folder, "--ray", cluster, models=MODELS) == 0
    run(tmp_path / "one", models=MODELS)
    assert found(folder) == found(tmp_path / "one")


@pytest.mark.ray
@pytest.mark.process
@pytest.mark.parametrize("times", [1, 99])
def test_workers_that_die(folder, tmp_path, cluster, minilm_folder, times, capsys, monkeypatch):
    monkeypatch.setattr("mteb_ext.running.on_ray._RETRIES", 1)
    deadly = one_that_kills_its_process(minilm_folder, tmp_path / "deadly", times)
    arguments = ["--ray", cluster, "--trust-remote-code"]
    status = run(folder, *arguments, models=[deadly, COSINE])
    assert (tmp_path / "deaths").read_bytes()
    if times == 1:  # Ray gives the job to another worker
        assert status == 0
        assert len(found(folder)[0]) == 4
        assert_each_once(folder)
    else:
        assert status == 1
        assert "2 of 4 cells failed" in capsys.readouterr().err
        assert len(found(folder)[0]) == 2


@pytest.mark.ray
@pytest.mark.process
def test_models_and_tasks_that_fail(folder, tmp_path, cluster, capsys):
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "config.json").write_text('{"architectures": ["BertModel"]}')
    models, tasks = [tmp_path / "damaged", COUNT], ["JACSTS.sample", "WikiQA.sample"]
    assert run(folder, "--ray", cluster, models=models, tasks=tasks) == 1
    first, *failed = capsys.readouterr().err.splitlines()
    assert first == "mteb-ext: 2 of 4 cells failed:"
    assert sum("local/damaged" in line for line in failed) == 2
    assert not any(COUNT in line for line in failed)  # it does not apply to JACSTS: skipped
    assert [path.stem for path in found(folder)[0]] == ["WikiQA.sample"]


@pytest.mark.ray
@pytest.mark.process
def test_a_driver_that_is_killed_and_started_again(folder, tmp_path, cluster):
    tasks = [*RANKING, "QABot.sample", "JACSTS.sample", "STS17SemEval.sample"]
    command = [
        *[sys.executable, "-m", "mteb_ext", "run", "-m", COSINE, "-t", *tasks],
        *["--output-folder", str(folder), "--ray", cluster],
    ]
    first = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=dict(os.environ))
    for line in first.stdout:
        if line.startswith("[1/5]"):
            break
    first.kill()
    first.wait()
    assert 1 <= len(found(folder)[0]) < 5
    second = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert second.returncode == 0, second.stderr
    assert "finished before" in second.stdout
    run(tmp_path / "one", tasks=tasks)
    assert found(folder) == found(tmp_path / "one")
    assert_each_once(folder)


def assert_each_once(folder: Path) -> None:
    """Every cell was run to its end once."""
    for settings in folder.rglob("run_settings.jsonl"):
        tasks = [json.loads(line)["task"] for line in settings.read_text().splitlines()]
        assert len(tasks) == len(set(tasks))
