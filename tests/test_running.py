"""Runs of many models on many tasks: their plan, their files, and what hits them."""

from __future__ import annotations

import errno
import gc
import importlib.util
import io
import json
import os
import random
import subprocess
import sys
import weakref
from dataclasses import replace
from pathlib import Path

import mteb
import pytest
from conftest import ToyEncoder, spread, toy_meta
from rich.console import Console
from rich.progress import Progress as LiveProgress
from rich.progress import TextColumn, TimeElapsedColumn

from mteb_ext.cli import main
from mteb_ext.errors import DataError, ModelError, RunError, error_line
from mteb_ext.formats.stamp import read_stamp
from mteb_ext.running import engines, worker_process
from mteb_ext.running.costs import cell_cost, pace, parameters_of_model, texts_of_task
from mteb_ext.running.models import ModelSpec
from mteb_ext.running.plan import Cell, Options, Plan, Unit, balanced, shard, units
from mteb_ext.running.plan_files import read_plan, write_plan
from mteb_ext.running.prepare import with_distinct_names
from mteb_ext.running.progress import Progress, duration
from mteb_ext.running.store import Store
from mteb_ext.running.worker import Event, Job, captured

COSINE, COUNT, WEIGHTED = (
    f"mteb-ext/{name}" for name in ("token-cosine", "word-count", "weighted-word-count")
)
MINILM = "sentence-transformers/all-MiniLM-L6-v2"  # a name in mteb's registry
RANKING = ["WikiQA.sample", "TRECQA.sample"]


@pytest.fixture(scope="module", autouse=True)
def libraries_are_no_garbage():
    """The worker collects garbage after each model; it need not look through the libraries."""
    import sentence_transformers  # noqa: F401

    gc.freeze()
    yield
    gc.unfreeze()


def cells_of(*costs):
    """Cells of models, whose tasks are a, b, c, …: a tuple of costs a model."""
    return [
        Cell(model, "abcdefgh"[i], cost)
        for model, part in enumerate(costs)
        for i, cost in enumerate(part)
    ]


def test_a_model_is_split_where_it_exceeds_half_a_fair_share():
    # 30 seconds for 2 workers: half a share is 7.5. Model 0 takes 18 and gets three parts, model 1
    # takes 12 and gets two; the longest go first, each to the part that has least.
    found = units(cells_of((7, 6, 3, 2), (4, 8)), workers=2)
    assert found == [
        Unit(1, ("b",), 8),
        Unit(0, ("a",), 7),
        Unit(0, ("b",), 6),
        Unit(0, ("c", "d"), 5),
        Unit(1, ("a",), 4),
    ]


def test_a_small_model_stays_whole():
    # 48 seconds for 2 workers, half a share is 12: model 1 takes no more than that.
    found = units(cells_of((18, 18), (4, 8)), workers=2)
    assert found == [Unit(0, ("a",), 18), Unit(0, ("b",), 18), Unit(1, ("b", "a"), 12)]


def test_one_worker_loads_each_model_once():
    found = units(cells_of((1, 2), (9,)), workers=1)
    assert found == [Unit(1, ("a",), 9), Unit(0, ("b", "a"), 3)]


def test_costs_that_divide_exactly_do_not_split_one_part_too_many():
    assert len(units(cells_of((0.1,) * 3, (0.1,) * 3, (0.1,) * 3), workers=3)) == 6


def test_longest_first_to_the_bin_that_has_least():
    assert balanced([3, 5, 4, 3], 2, float) == [[5, 3], [4, 3]]
    assert balanced([], 2, float) == [[], []]


@pytest.mark.parametrize("seed", range(5))
def test_shards_are_disjoint_balanced_and_all(seed):
    rng = random.Random(seed)
    cells = cells_of(*[[rng.uniform(1, 50) for _ in range(8)] for _ in range(12)])
    for of in (1, 3, 7):
        parts = [shard(cells, number, of) for number in range(1, of + 1)]
        keys = [(unit.model, task) for part in parts for unit in part for task in unit.tasks]
        assert sorted(keys) == sorted((cell.model, cell.task) for cell in cells)
        totals = [sum(unit.cost for unit in part) for part in parts]
        best = max([sum(totals) / of, *(cell.cost for cell in cells)])
        assert max(totals) <= 4 / 3 * best


def test_more_shards_than_cells_leaves_some_empty():
    parts = [shard(cells_of((1,)), number, 3) for number in (1, 2, 3)]
    assert [len(part) for part in parts] == [1, 0, 0]


def test_cost_of_a_cell():
    # all-MiniLM-L6-v2 took 23.2 seconds for JACSTS's 4,698 distinct texts: 4.9 ms a text.
    assert cell_cost(4698, 22_700_000) == pytest.approx(23.2, rel=0.15)
    assert cell_cost(0, 0) == 1.0


@pytest.mark.parametrize(
    ("task", "n_texts"),
    [
        ("JACSTS", 2 * 3670),
        ("WikiQA.sample", 100),
        ("STS12", 3108),  # mteb's descriptive statistics
        ("QABot", 22_829 + 20),
    ],
)
def test_texts_of_a_task(task, n_texts):
    assert texts_of_task(mteb.get_task(task)) == n_texts


def test_size_of_a_model(tmp_path):
    (tmp_path / "0_Transformer").mkdir()
    (tmp_path / "0_Transformer" / "model.safetensors").write_bytes(bytes(400))
    (tmp_path / "tokenizer.json").write_bytes(bytes(999))
    assert parameters_of_model(ModelSpec(str(tmp_path))) == 100
    assert parameters_of_model(ModelSpec(COSINE)) == 0
    assert parameters_of_model(ModelSpec("no-such/model")) == 100_000_000


def folders(tmp_path, *names):
    for name in names:
        (tmp_path / name).mkdir(parents=True)
    return [ModelSpec(str(tmp_path / name)) for name in names]


def test_folders_of_one_name_get_their_parents(tmp_path):
    models = folders(tmp_path, "a/bge", "b/bge", "b/other")
    named = with_distinct_names([*models, ModelSpec(COSINE)])
    assert [model.name for model in named] == [
        "local/a-bge",
        "local/b-bge",
        "local/other",
        None,
    ]


def test_one_folder_as_two_kinds_keeps_its_name(tmp_path):
    (model,) = folders(tmp_path, "a/bge")
    named = with_distinct_names([model, replace(model, kind="cross-encoder")])
    assert [model.name for model in named] == ["local/bge", "local/bge"]


def test_a_name_of_ones_own_is_kept(tmp_path):
    first, second = folders(tmp_path, "a/bge", "b/bge")
    named = with_distinct_names([replace(first, name="lab/mine"), second])
    assert [model.name for model in named] == ["lab/mine", "local/bge"]


def test_a_plan_is_read_as_it_was_written(tmp_path):
    odd = 'a "quoted" \\ back\x7f\n\x00 臨床 \U0001f600'
    plan = Plan(
        (
            ModelSpec(COSINE, revision="1"),
            ModelSpec(
                MINILM,
                revision="8b3219a92973c328a8e22fadcfa821b5dc75636a",
                trust_remote_code=True,
                model_kwargs={"n": 1, "x": 0.5, "deep": {"a b": [True, "c"]}},
                prompts={"query": odd, "WikiQA-query": "b"},
            ),
        ),
        ("WikiQA", "JACSTS"),
        Options(("dev",), ("en",), 7, "always", False),
    )
    (tmp_path / "plan.toml").write_text(write_plan(plan), encoding="utf-8")
    assert read_plan(tmp_path / "plan.toml") == plan


def test_a_saved_plan_names_revisions(tmp_path, capsys):
    path = tmp_path / "plan.toml"
    assert main(["run", "-m", COSINE, "-t", "WikiQA", "--save-plan", str(path)]) == 0
    assert read_plan(path) == Plan((ModelSpec(COSINE, revision="1"),), ("WikiQA",))
    assert not capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tasks = [", "is no readable plan"),
        ('tasks = ["W"]\rbatch_size = 3\n', "is no readable plan"),  # no end of a line in TOML
        ("\udcff", "is no readable plan"),
        ('tasks = ["WikiQA"]', r"needs a table \[\[models\]\]"),
        ('models = {a = 1}\ntasks = ["WikiQA"]', r"needs a table \[\[models\]\]"),
        ('models = ["a"]\ntasks = ["WikiQA"]', "models.0 is 'a'. Input should be a dictionary"),
        ('[[models]]\nmodel = "a/b"', r"needs tasks = \["),
        ('tasks = "WikiQA"\n[[models]]\nmodel = "a/b"', r"needs tasks = \["),
        ('tasks = [1]\n[[models]]\nmodel = "a/b"', "tasks.0 is 1. Input should be a valid string"),
        ('tasks = ["WikiQA"]\n[[models]]\nkind = "sparse"', 'needs model = "…"'),
        ('tasks = ["W"]\nbatch_sise = 3\n[[models]]\nmodel = "a/b"', "Did you mean 'batch_size'"),
        ('tasks = ["W"]\n[[models]]\nmodel = "a/b"\nkinds = "sparse"', "Did you mean 'kind'"),
        ('tasks = ["W"]\nbatch_size = 0\n[[models]]\nmodel = "a/b"', "batch_size is 0. Input"),
        (
            'tasks = ["W"]\nbatch_size = true\n[[models]]\nmodel = "a/b"',
            "batch_size is True. Input",
        ),
        ('tasks = ["W"]\nbatch_size = "3"\n[[models]]\nmodel = "a/b"', "batch_size is '3'. Input"),
        ('tasks = ["W"]\neval_splits = "dev"\n[[models]]\nmodel = "a/b"', "should be a valid list"),
        ('tasks = ["W"]\npredictions = 1\n[[models]]\nmodel = "a/b"', "predictions is 1. Input"),
        ('tasks = ["W"]\noverwrite_strategy = "some"\n[[models]]\nmodel = "a/b"', "only-missing"),
        ('tasks = ["W"]\n[[models]]\nmodel = "a/b"\nkind = "dense"', "sentence-transformer"),
        ('tasks = ["W"]\n[[models]]\nmodel = "a/b"\nprompts = {query = 1}', "prompts.query is 1"),
        ('tasks = ["W"]\n[[models]]\nmodel = "a/b"\nmodel_kwargs = 1', "model_kwargs is 1"),
        ('tasks = ["W"]\n[[models]]\nmodel = "a/b"\nrevision = 1', "revision is 1"),
        ('tasks = ["W"]\n[[models]]\nmodel = "a/b"\ntrust_remote_code = 1', "valid boolean"),
    ],
)
def test_a_plan_file_that_is_none(tmp_path, text, message):
    path = tmp_path / "plan.toml"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(RunError, match=message):
        read_plan(path)


@pytest.mark.parametrize("options", [{}, {"window": 3, "prompts": {"query": "a/b"}}])
def test_the_store_has_mtebs_layout(tmp_path, options):
    meta = toy_meta("org/my model", experiment_kwargs=options or None)
    theirs = mteb.ResultCache(tmp_path).get_task_result_path("WikiQA", meta)
    assert Store(tmp_path).result(meta, "WikiQA") == theirs


@pytest.mark.parametrize("place", ["file", "file/below", "/proc/nowhere"])
def test_an_output_folder_that_cannot_be_written(tmp_path, place, capsys):
    (tmp_path / "file").touch()
    out = str(tmp_path / place)
    assert main(["run", "-m", COSINE, "-t", "WikiQA.sample", "--output-folder", out]) == 1
    assert "cannot be written" in capsys.readouterr().err


def test_a_cell_is_held_by_one_at_a_time(tmp_path):
    store, meta = Store(tmp_path), toy_meta()
    with store.claim(meta, "WikiQA") as place:
        pass
    place.mkdir()
    (place / "of a run that was killed").touch()
    with store.claim(meta, "WikiQA") as place:
        assert not list(place.iterdir())
        (place / "left over").touch()
        with store.claim(meta, "WikiQA") as other:
            assert other is None
        with store.claim(meta, "JACSTS") as another:
            assert another is not None
    with store.claim(meta, "WikiQA") as again:
        assert again == place
        assert not list(again.iterdir())


def run(folder, *arguments, models=(COSINE,), tasks=RANKING):
    """Run the command line in this process."""
    return main(
        ["run", "-m", *map(str, models), "-t", *tasks, "--output-folder", str(folder), *arguments]
    )


def found(folder):
    """All that a run has found: scores and predictions by file."""
    scores = {
        path.relative_to(folder): json.loads(path.read_text())["scores"]
        for path in folder.glob("results/*/*/*.json")
        if path.name != "model_meta.json"
    }
    predictions = {
        path.relative_to(folder): json.loads(path.read_text())
        for path in folder.glob("predictions/*/*/*_predictions.json")
    }
    return scores, predictions


@pytest.fixture
def folder(tmp_path, no_data):
    """Where a run writes; on samples only."""
    return tmp_path / "out"


def test_a_run_leaves_what_mteb_reads(folder, capsys):
    assert run(folder, models=[COSINE, COUNT]) == 0
    said = capsys.readouterr().out
    assert "[4/4] mteb-ext/" in said
    assert said.splitlines()[-1] == f"Results are in {folder}. Next: mteb-ext compare {folder}"
    results = mteb.ResultCache(folder).load_results()
    by_model = {r.model_name: r for r in results.model_results}
    assert set(by_model) == {COSINE, COUNT}
    for name, result in by_model.items():
        assert {r.task_name for r in result.task_results} == set(RANKING)
        for task_result in result.task_results:
            fresh = mteb.evaluate(
                mteb.get_model(name), mteb.get_task(task_result.task_name), cache=None
            )
            score = pytest.approx(fresh.task_results[0].get_score(), abs=1e-6)  # mteb's rounding
            assert task_result.get_score() == score
            line = f"{name} {task_result.task_name}: map {task_result.get_score():.4f}"
            assert line in said
    assert not [path for path in (folder / ".running").iterdir() if path.suffix != ".lock"]


def test_the_stamp_says_what_made_a_result(folder):
    import hashlib
    from importlib.metadata import version

    run(folder, tasks=["WikiQA.sample"])
    place = folder / "results" / "mteb-ext__token-cosine" / "1"
    stamp = read_stamp(place / "WikiQA.sample.stamp")
    predictions = folder / "predictions/mteb-ext__token-cosine/1/WikiQA.sample_predictions.json"
    assert stamp.predictions_sha256 == hashlib.sha256(predictions.read_bytes()).hexdigest()
    assert (stamp.model_name, stamp.model_revision) == (COSINE, "1")
    assert (stamp.task, stamp.dataset_revision) == ("WikiQA.sample", "sample")
    assert "1911.04118" in stamp.protocol
    assert stamp.libraries["mteb"] == version("mteb")
    assert stamp.model["model"] == COSINE
    assert stamp.command[0] == sys.argv[0]


@pytest.mark.parametrize("content", ["", "{}", '{"task": "a"}', "[1]"])
def test_a_damaged_stamp(tmp_path, content):
    (tmp_path / "a.stamp").write_text(content)
    with pytest.raises(DataError, match=r"a\.stamp is no readable stamp"):
        read_stamp(tmp_path / "a.stamp")


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("task", 5, "task: input should be a valid string"),
        ("protocol", [], "protocol: input should be"),
        ("seconds", True, "seconds: input should be a valid number"),
        ("command", [1], r"command\.0: input should be"),
        ("libraries", {"mteb": 2}, r"libraries\.mteb: input should be"),
        ("supplied", [{"name": "a"}], r"supplied\.0\.sha256: field required"),
        ("other", 1, "other: .*unexpected"),
    ],
)
def test_a_stamp_that_holds_something_else(tmp_path, name, value, said):
    stamp = {
        **dict.fromkeys(("task", "dataset_revision", "model_name", "model_revision"), "a"),
        **dict.fromkeys(("protocol", "protocol_version", "predictions_sha256", "result_sha256")),
        **{key: {} for key in ("model", "libraries", "hardware", "data_fingerprints")},
        **{"seconds": 1, "command": []},
    }
    (tmp_path / "a.stamp").write_text(json.dumps(stamp))
    read_stamp(tmp_path / "a.stamp")
    (tmp_path / "a.stamp").write_text(json.dumps({**stamp, name: value}))
    with pytest.raises(DataError, match=said):
        read_stamp(tmp_path / "a.stamp")


def test_what_is_finished_is_not_run_again(folder, capsys, monkeypatch):
    run(folder)
    before = found(folder)
    monkeypatch.setattr(ModelSpec, "load", lambda *_: pytest.fail("it was loaded"))
    capsys.readouterr()
    assert run(folder) == 0
    assert capsys.readouterr().out.count("finished before") == 2
    assert found(folder) == before


def test_always_means_again(folder, capsys):
    run(folder, tasks=["WikiQA.sample"])
    capsys.readouterr()
    run(folder, "--overwrite-strategy", "always", tasks=["WikiQA.sample"])
    assert "finished before" not in capsys.readouterr().out


@pytest.mark.slow
def test_missing_subsets_are_added(folder, tmp_path):
    task = ["STS17SemEval.sample"]
    run(folder, "--eval-subsets", "3-es-es", "5-en-en", tasks=task)
    (scores,) = found(folder)[0].values()
    assert len(scores["test"]) == 2
    assert run(folder, tasks=task) == 0
    run(tmp_path / "whole", tasks=task)
    (scores,), (predictions,) = (part.values() for part in found(folder))
    (whole,), (whole_predictions,) = (part.values() for part in found(tmp_path / "whole"))
    assert sorted(scores["test"], key=lambda s: s["hf_subset"]) == whole["test"]
    assert predictions == whole_predictions


def test_other_subsets_do_not_replace_those_that_are_there(folder):
    task = ["STS17SemEval.sample"]
    run(folder, "--eval-subsets", "3-es-es", tasks=task)
    run(folder, "--eval-subsets", "5-en-en", tasks=task)
    ((scores,), (predictions,)) = (part.values() for part in found(folder))
    assert {score["hf_subset"] for score in scores["test"]} == {"3-es-es", "5-en-en"}
    assert {"3-es-es", "5-en-en"} < set(predictions)


@pytest.mark.slow
def test_predictions_hold_all_that_the_result_does(folder):
    task = ["STS17SemEval.sample"]
    run(folder, "--eval-subsets", "3-es-es", "--no-predictions", tasks=task)
    assert not found(folder)[1]
    assert run(folder, tasks=task) == 0
    ((predictions,),) = [found(folder)[1].values()]
    assert len(set(predictions) - {"mteb_model_meta", "mteb_ext"}) == 6


def test_predictions_that_are_missing_are_spoken_of(folder, capsys):
    run(folder, "--no-predictions", tasks=["WikiQA.sample"])
    capsys.readouterr()
    run(folder, tasks=["WikiQA.sample"])
    assert "without predictions for all of it" in capsys.readouterr().out
    run(folder, "--overwrite-strategy", "always", tasks=["WikiQA.sample"])
    assert "without predictions" not in capsys.readouterr().out
    assert found(folder)[1]


def test_predictions_that_are_missing_in_part_are_spoken_of(folder, capsys):
    task = ["STS17SemEval.sample"]
    run(folder, "--eval-subsets", "3-es-es", "--no-predictions", tasks=task)
    run(folder, "--eval-subsets", "5-en-en", tasks=task)
    assert "without predictions for all of it" in capsys.readouterr().out
    ((scores,), (predictions,)) = (part.values() for part in found(folder))
    assert {score["hf_subset"] for score in scores["test"]} == {"3-es-es", "5-en-en"}
    assert "3-es-es" not in predictions


def test_predictions_elsewhere(folder, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    run(folder, "--prediction-folder", str(elsewhere), tasks=["WikiQA.sample"])
    assert (elsewhere / "mteb-ext__token-cosine/1/WikiQA.sample_predictions.json").exists()
    assert not (folder / "predictions").exists()


DAMAGED = {
    "empty": lambda result: "",
    "other data": lambda result: json.dumps({**result, "dataset_revision": "old"}),
    "another task": lambda result: json.dumps({**result, "task_name": "TRECQA.sample"}),
    **{
        f"a score of {score}": lambda result, score=score: json.dumps(
            {**result, "scores": {"test": [{**result["scores"]["test"][0], "main_score": score}]}}
        )
        for score in (float("nan"), None, "x", 10**400, 7.5)
    },
}


@pytest.mark.parametrize("damage", DAMAGED.values(), ids=DAMAGED)
def test_a_result_that_does_not_count_is_made_again(folder, damage):
    run(folder, tasks=["WikiQA.sample"])
    before = found(folder)
    (path,) = folder.glob("results/*/*/WikiQA.sample.json")
    result = json.loads(path.read_text())
    path.write_text(damage(result))
    assert run(folder, tasks=["WikiQA.sample"]) == 0
    assert found(folder) == before
    assert json.loads(path.read_text())["dataset_revision"] == "sample"


@pytest.mark.slow
def test_another_edition_of_private_data_is_finished_too(folder, no_data, capsys):
    from conftest import write_qabot

    write_qabot(no_data)
    assert run(folder, tasks=["QABot"]) == 0
    assert run(folder, tasks=["QABot"]) == 0
    assert "finished before" in capsys.readouterr().out
    answers = no_data / "qabot" / "3" / "data.csv"
    changed = answers.read_text("utf-8").replace("候補 5\n", "別の候補 5\n")
    assert changed != answers.read_text("utf-8")
    answers.write_text(changed, "utf-8")
    capsys.readouterr()
    assert run(folder, tasks=["QABot"]) == 0
    assert "finished before" not in capsys.readouterr().out


@pytest.mark.slow
def test_failures_do_not_stop_the_others_and_are_named(folder, tmp_path, capsys):
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "config.json").write_text('{"architectures": ["BertModel"]}')
    models = [tmp_path / "damaged", COUNT, COSINE]
    assert run(folder, models=models, tasks=["JACSTS.sample", "WikiQA.sample"]) == 1
    captured = capsys.readouterr()
    assert "Traceback" not in captured.out + captured.err
    first, *lines = captured.err.splitlines()
    assert first == "mteb-ext: 2 of 6 cells failed:"
    failed = [line.removeprefix("mteb-ext: ").split(":")[0].split() for line in lines]
    assert failed == [["local/damaged", "JACSTS.sample"], ["local/damaged", "WikiQA.sample"]]
    assert f"{COUNT} JACSTS.sample: skipped" in captured.out  # the word count cannot do STS
    logs = [line.rpartition("(log: ")[2].rstrip(")") for line in lines]
    assert all("Traceback" in Path(log).read_text() for log in logs)
    assert {path.stem for path in found(folder)[0]} == {"JACSTS.sample", "WikiQA.sample"}
    assert len(found(folder)[0]) == 3
    assert run(folder, models=[COUNT, COSINE], tasks=["WikiQA.sample"]) == 0


def test_a_model_that_does_not_load_is_tried_once(folder, monkeypatch, capsys):
    tries = []

    def load(spec, device=None):
        tries.append(spec.model)
        raise ModelError("it does not load")

    monkeypatch.setattr(ModelSpec, "load", load)
    assert run(folder) == 1
    assert tries == [COSINE]
    assert capsys.readouterr().err.count("it does not load") == 2


def test_private_data_that_is_not_here_is_skipped_and_said_once(folder, capsys):
    assert run(folder, models=[COSINE, COUNT], tasks=["QABot", "WikiQA.sample"]) == 0
    assert capsys.readouterr().out.count("Not public: ask its authors") == 1
    assert len(found(folder)[0]) == 2


@pytest.mark.slow
def test_models_are_in_memory_one_at_a_time(folder, monkeypatch):
    alive = weakref.WeakSet()
    seen = []

    def load(spec, device=None):
        gc.collect()
        seen.append(len(alive))
        model = ToyEncoder(spread)
        model.mteb_model_meta = toy_meta(spec.model)
        alive.add(model)
        return model

    monkeypatch.setattr(ModelSpec, "load", load)
    assert run(folder, models=[COSINE, COUNT, WEIGHTED]) == 0
    assert seen == [0, 0, 0]


@pytest.mark.slow
def test_tasks_share_the_embeddings_of_a_text(folder, monkeypatch, minilm_folder):
    from sentence_transformers import SentenceTransformer

    texts = []
    plain = SentenceTransformer.encode

    def encode(self, sentences, *args, **kwargs):
        texts.extend(sentences)
        return plain(self, sentences, *args, **kwargs)

    monkeypatch.setattr(SentenceTransformer, "encode", encode)
    tasks = ["WMT17Metrics.sample", "WMT17MetricsQE.sample"]
    assert run(folder, models=[minilm_folder], tasks=tasks) == 0
    assert len(texts) == len(set(texts)) > 0


def test_output_of_a_cell_goes_to_its_log(folder, monkeypatch, capfd):
    def load(spec, device=None):
        print("said by print")
        os.write(2, b"said by C\n")
        return ToyEncoder(spread)

    monkeypatch.setattr(ModelSpec, "load", load)
    run(folder, tasks=["WikiQA.sample"])
    shown = capfd.readouterr()
    assert "said by" not in shown.out + shown.err
    (log,) = folder.glob("logs/*/*/WikiQA.sample.log")
    said = log.read_text()
    assert "said by print" in said
    assert "said by C" in said
    assert "Running task WikiQA.sample" in said


def test_a_mean_over_splits_is_called_one(folder, capsys):
    run(folder, "--eval-splits", "dev", "test", tasks=["WikiQA.sample"])
    assert "WikiQA.sample: map (mean of dev, test) 0." in capsys.readouterr().out


def test_dry_run(folder, capsys):
    run(folder, tasks=["WikiQA.sample"])
    (stamp,) = folder.glob("results/*/*/WikiQA.sample.stamp")
    stamp.unlink()
    capsys.readouterr()
    assert run(folder, "--dry-run", models=[COSINE, COUNT]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{COSINE} 1 WikiQA.sample: finished",
        f"{COSINE} 1 TRECQA.sample: about 1 s",
        f"{COUNT} 1 WikiQA.sample: about 1 s",
        f"{COUNT} 1 TRECQA.sample: about 1 s",
        "4 cells; what is not finished takes about 3 s on 2 CPU cores.",
    ]


def test_a_dry_run_goes_by_what_cells_took_here(folder, capsys):
    run(folder, tasks=["WikiQA.sample"])
    (stamp,) = folder.glob("results/*/*/WikiQA.sample.stamp")
    # A cell of 100 texts and no parameters is guessed at 1.02 seconds. It took 50 times that here.
    stamp.write_text(json.dumps({**json.loads(stamp.read_text()), "seconds": 51.0}))
    capsys.readouterr()
    assert run(folder, "--dry-run") == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{COSINE} 1 WikiQA.sample: finished",
        f"{COSINE} 1 TRECQA.sample: about 51 s",
        "2 cells; what is not finished takes about 51 s by what 1 cells took here.",
    ]


def test_pace_is_over_the_cells_of_known_time():
    assert pace([(30.0, 10.0), (0.0, 99.0), (10.0, 10.0)]) == 2.0
    assert pace([(0.0, 99.0)]) is None


def test_a_dry_run_makes_no_folder(folder):
    assert run(folder, "--dry-run") == 0
    assert not folder.exists()


def test_a_model_folder_whose_name_is_no_utf8(folder, tmp_path, capsys):
    odd = tmp_path / "mod\udce8le"
    odd.mkdir()
    arguments = ["-m", str(odd), COSINE, "-t", "WikiQA.sample", "--output-folder", str(folder)]
    assert main(["run", *arguments]) == 1
    said = capsys.readouterr().err
    assert "mod\\udce8le', is no UTF-8" in said
    assert "Rename it, or give a link to it." in said
    assert not folder.exists()


@pytest.mark.parametrize("model", ["9" * 400, "./" + "9" * 400])
def test_a_model_whose_name_no_file_can_have(tmp_path, monkeypatch, model):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "plan.toml"
    path.write_text(f'tasks = ["WikiQA"]\n[[models]]\nmodel = "{model}"')
    assert read_plan(path).models[0].model == model
    with pytest.raises(ModelError):
        _ = ModelSpec(model).meta


def test_a_log_takes_names_that_are_no_utf8(tmp_path):
    log = tmp_path / "a.log"
    with pytest.raises(ValueError, match="mod"), captured(log):
        raise ValueError("mod\udce8le")
    assert "ValueError: mod\\udce8le" in log.read_text()


def test_benchmarks_and_tasks_together(folder, capsys):
    arguments = ["run", "-m", COSINE, "-t", "WikiQA", "-b", "TANDA-AS2", "--dry-run"]
    assert main([*arguments, "--output-folder", str(folder)]) == 0
    assert [line.split()[2] for line in capsys.readouterr().out.splitlines()[:-1]] == [
        "WikiQA:",
        "TRECQA:",
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-t", "WikiQA"], "say what to run"),
        (["-m", COSINE], "say what to run"),
        (["-m", COSINE, "-t", "WikiQAA"], "Did you mean 'WikiQA'"),
        (["-m", COSINE, "-b", "TANDA"], "there is no benchmark 'TANDA'"),
        (["-m", COSINE, "-t", "WikiQA", "--eval-subsets", "en"], "no subset 'en'"),
        (["-m", COSINE, COUNT, "-t", "WikiQA", "--name", "a/b"], "one model's"),
        (["-m", "./nowhere", "-t", "WikiQA"], "there is no folder ./nowhere"),
        (["--plan", "nowhere.toml"], "nowhere.toml is no readable plan"),
        (["--plan", "nowhere.toml", "-m", COSINE], "leave -m, -t and -b out"),
        (["-m", COSINE, "-t", "WikiQA", "--dtype", "float16"], "is all code and has no options"),
        (["-m", COSINE, "-t", "WikiQA", "--prompt", "query=x"], "is all code and has no options"),
        (["-m", COSINE, "-t", "WikiQA", "--model-kwargs", '{"a": 1}'], "is all code and has"),
    ],
)
def test_wrong_plans(folder, arguments, message, capsys):
    assert main(["run", *arguments, "--output-folder", str(folder)]) == 1
    said = capsys.readouterr().err
    assert message in said
    assert "Traceback" not in said
    assert not folder.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--shard", "0/3"], "0/3 is not I/N"),
        (["--shard", "4/3"], "4/3 is not I/N"),
        (["--jobs", "0"], "0 is not above 0"),
        (["--batch-size", "x"], "invalid positive int value"),
        (["--model-kwargs", "[1]"], "is not a JSON object"),
        (["--prompt", "query"], "query is not KEY=TEXT"),
        (["--jobs", "2", "--ray"], "not allowed with"),
    ],
)
def test_wrong_flags(arguments, message, capsys):
    with pytest.raises(SystemExit):
        main(["run", "-m", COSINE, "-t", "WikiQA", *arguments])
    assert message in capsys.readouterr().err


def test_dtype_and_prompts_reach_the_plan(tmp_path):
    path = tmp_path / "plan.toml"
    main(
        [
            *["run", "-m", MINILM, "-t", "WikiQA", "--save-plan", str(path)],
            *["--dtype", "bfloat16", "--prompt", "query=find: ", "document=", "--batch-size", "4"],
        ]
    )
    (model,) = read_plan(path).models
    assert model.model_kwargs == {"model_kwargs": {"dtype": "bfloat16"}}
    assert model.prompts == {"query": "find: ", "document": ""}
    assert read_plan(path).options.batch_size == 4


def test_progress_counts_and_estimates(capsys, monkeypatch):
    times = iter([0.0, 30.0, 30.0, 30.0])
    monkeypatch.setattr("time.monotonic", lambda: next(times))
    progress = Progress({(0, "a"): 10.0, (0, "b"): 20.0})
    progress.take(Event(0, "a", "started", "org/m"))
    progress.take(Event(0, "a", "done", "org/m", score=0.5, metric="map", seconds=30))
    progress.take(Event(0, "a", "done", "org/m", score=0.5, metric="map", seconds=30))
    progress.take(Event(0, "b", "failed", "org/\x1b[31mm", message="why"))
    assert capsys.readouterr().out.splitlines() == [
        "[0/2] org/m a: running",
        "[1/2] org/m a: map 0.5000 in 30 s; about 60 s left",
        "[2/2] org/\\x1b[31mm b: FAILED. why",
    ]
    assert [event.task for event in progress.failed] == ["b"]


def test_a_terminal_shows_since_when_a_cell_is_run(monkeypatch):
    screen = io.StringIO()

    def live():
        console = Console(file=screen, force_terminal=True, no_color=True, width=80)
        columns = (TextColumn("{task.description}", markup=False), TimeElapsedColumn())
        return LiveProgress(*columns, console=console, auto_refresh=False)

    monkeypatch.setattr("mteb_ext.running.progress._live", live)
    with Progress({(0, "a"): 10.0, (1, "a"): 10.0}) as progress:
        progress.take(Event(0, "a", "started", "org/[red]m"))
        progress.take(Event(1, "a", "started", "org/n"))
        progress.take(Event(1, "a", "done", "org/n", score=0.5, metric="map", seconds=30))
        progress._live.refresh()
        lines, bottom = screen.getvalue().rsplit("\x1b[2K", 1)
    assert bottom == "org/[red]m a 0:00:00"
    assert "[1/2] org/n a: map 0.5000 in 30 s" in lines


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0 s"), (99, "99 s"), (101, "2 min"), (7200, "2.0 h")]
)
def test_durations(seconds, text):
    assert duration(seconds) == text


@pytest.mark.slow
def test_shards_together_are_the_whole(folder, tmp_path):
    models = [COSINE, COUNT, WEIGHTED]
    for number in (1, 2, 3):
        assert run(tmp_path / f"part{number}", "--shard", f"{number}/3", models=models) == 0
    run(folder, models=models)
    parts = [found(tmp_path / f"part{number}") for number in (1, 2, 3)]
    for whole, *pieces in zip(found(folder), *parts, strict=True):
        assert sorted(whole) == sorted(key for piece in pieces for key in piece)
        assert whole == {key: value for piece in pieces for key, value in piece.items()}


@pytest.fixture
def forked(folder):
    """A function that runs the command line in a forked process, everything imported before.

    It is given a statement to run in the parent, where ``pids`` are the processes' numbers.
    """

    def start(arguments, statements, n=1):
        script = f"""
import os, random, signal, sys, time
import mteb, torch, sentence_transformers, mteb_ext.running.worker, mteb_ext.encoding.sharing
from mteb_ext.cli import main
mteb.get_task("WikiQA.sample"), mteb.get_model({COSINE!r})

def fork():
    pid = os.fork()
    if not pid:
        try:
            status = main({arguments!r})
        except BaseException as error:
            status = repr(error)
        os._exit(status if isinstance(status, int) else 9)
    return pid

def ended(pid):
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

{statements}
"""
        return subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, timeout=300, check=False
        )

    return start


@pytest.mark.process
def test_killed_at_ten_moments_and_started_again(folder, tmp_path, forked):
    models, tasks = [COSINE, COUNT, WEIGHTED], [*RANKING, "QABot.sample"]
    arguments = ["run", "-m", *models, "-t", *tasks, "--output-folder", str(folder)]
    done = forked(
        arguments,
        """
kills = 0
for i in range(40):
    pid = fork()
    time.sleep(random.Random(i).uniform(0.02, 0.4))
    os.kill(pid, signal.SIGKILL)
    kills += ended(pid) == -9
    if kills == 10:
        break
print("killed", kills)
sys.exit(ended(fork()))
""",
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.rpartition("killed ")[2].split()[0]) > 3
    run(tmp_path / "undisturbed", models=models, tasks=tasks)
    assert found(folder) == found(tmp_path / "undisturbed")
    assert {path.suffix for path in (folder / ".running").iterdir()} == {".lock"}


@pytest.mark.process
def test_two_runs_in_one_folder_at_once_share_the_work(folder, tmp_path, forked):
    models = [COSINE, COUNT, WEIGHTED]
    arguments = ["run", "-m", *models, "-t", *RANKING, "--output-folder", str(folder)]
    done = forked(arguments, "pids = [fork(), fork()]\nsys.exit(max(map(ended, pids)))")
    assert done.returncode == 0, done.stderr
    run(tmp_path / "alone", models=models)
    assert found(folder) == found(tmp_path / "alone")
    for settings in folder.rglob("run_settings.jsonl"):
        tasks = [json.loads(line)["task"] for line in settings.read_text().splitlines()]
        assert sorted(tasks) == sorted(RANKING)  # each was run once


def one_that_kills_its_process(minilm_folder, folder, times):
    """A model whose code kills the process that loads it, a number of times."""
    import shutil

    shutil.copytree(minilm_folder, folder)
    listed = json.loads((folder / "modules.json").read_text())
    listed[1]["type"] = "deadly.Pooling"
    (folder / "modules.json").write_text(json.dumps(listed))
    (folder / "deadly.py").write_text(
        "import os, pathlib, signal\n"
        f"deaths = pathlib.Path({str(folder.parent / 'deaths')!r})\n"
        "n = len(deaths.read_bytes()) if deaths.exists() else 0\n"
        f"if n < {times}:\n"
        "    deaths.write_bytes(b'x' * (n + 1))\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "from sentence_transformers.models import Pooling\n"
    )
    return folder


@pytest.mark.process
@pytest.mark.parametrize("times", [1, 99])
def test_worker_processes_that_die(folder, tmp_path, minilm_folder, times, capsys, monkeypatch):
    monkeypatch.setenv("HF_MODULES_CACHE", str(tmp_path / "modules"))
    deadly = one_that_kills_its_process(minilm_folder, tmp_path / "deadly", times)
    status = run(folder, "--jobs", "2", "--trust-remote-code", models=[deadly, COSINE])
    captured = capsys.readouterr()
    assert {path.stem for path in found(folder)[0]} == set(RANKING)
    if times == 1:
        assert status == 0, captured.err
        assert len(found(folder)[0]) == 4
    else:
        assert status == 1
        assert "2 of 4 cells failed" in captured.err
        assert captured.err.count("ended by SIGKILL, as it is when memory runs out") == 2
        assert len(found(folder)[0]) == 2


@pytest.mark.process
def test_processes_find_what_one_does(folder, tmp_path, capsys):
    models = [COSINE, COUNT, WEIGHTED]
    assert run(folder, "--jobs", "2", models=models) == 0
    assert capsys.readouterr().out.count(": map ") == 6
    run(tmp_path / "one", models=models)
    assert found(folder) == found(tmp_path / "one")


def test_without_torch_a_run_says_what_is_missing(folder, capsys, monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *a: None if name == "torch" else find(name, *a)
    )
    assert run(folder) == 1
    assert "a model needs torch, which mteb-core leaves out" in capsys.readouterr().err
    assert not folder.exists()


def test_a_cell_that_was_killed_before_its_result_was_there_is_noted_once(folder):
    assert run(folder, tasks=["WikiQA.sample"]) == 0
    place = folder / "results" / "mteb-ext__token-cosine" / "1"
    noted = (place / "run_settings.jsonl").read_text()
    (place / "WikiQA.sample.json").unlink()  # which is moved into place last
    assert run(folder, tasks=["WikiQA.sample"]) == 0
    assert (place / "run_settings.jsonl").read_text() == noted
    assert run(folder, "--batch-size", "4", "--overwrite-strategy", "always") == 0
    assert len((place / "run_settings.jsonl").read_text().splitlines()) == 1 + len(RANKING)


class Panic(BaseException):
    """As the panics of other languages arrive."""


class MuteError(Exception):
    def __str__(self):
        raise ZeroDivisionError


def failing_encoder(error):
    def encode(*_, **__):
        os.environ.pop("HF_HUB_OFFLINE", None)
        raise error

    model = ToyEncoder(spread)
    model.encode = encode
    return model


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (SystemExit(0), "SystemExit: 0"),
        (Panic("panicked"), "Panic: panicked"),
        (MuteError(), "MuteError: its message cannot be shown"),
        (ValueError("x" * 10_000_000), "ValueError: xxx"),
    ],
)
def test_whatever_a_model_raises_is_a_failed_cell(folder, monkeypatch, capsys, error, said):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    load = ModelSpec.load
    broken = failing_encoder(error)
    monkeypatch.setattr(
        ModelSpec, "load", lambda spec, d=None: broken if spec.model == COUNT else load(spec, d)
    )
    assert run(folder, models=[COUNT, COSINE], tasks=["JACSTS.sample"]) == 1
    assert os.environ["HF_HUB_OFFLINE"] == "1"
    assert len(found(folder)[0]) == 1
    printed = "".join(capsys.readouterr())
    assert said in printed
    assert len(printed) < 10_000


def test_an_interrupt_ends_the_run(folder, monkeypatch):
    monkeypatch.setattr(ModelSpec, "load", lambda *_: failing_encoder(KeyboardInterrupt()))
    assert run(folder, tasks=["JACSTS.sample"]) == 130


def test_a_model_that_ranks_only_is_skipped_on_sts_and_said_once(folder, capsys):
    tasks = ["JACSTS.sample", "STS17SemEval.sample", "WikiQA.sample"]
    assert run(folder, models=[COUNT], tasks=tasks) == 0
    lines = capsys.readouterr().out.splitlines()
    first, second = [line for line in lines if "skipped" in line]
    assert "word-count JACSTS.sample: skipped. mteb-ext/word-count ranks documents" in first
    assert "word-count STS17SemEval.sample: skipped" in second
    assert "ranks documents" not in second
    assert len(found(folder)[0]) == 1


def test_an_own_error_is_shown_without_its_type():
    assert error_line(RunError("a\n  b")) == "a b"


def test_a_cell_that_no_worker_answers_is_a_failure(capsys):
    with Progress({(0, "a"): 1.0, (0, "b"): 1.0}) as progress:
        progress.take(Event(0, "a", "done", "org/m", 0.5, "map"))
        progress.end()
    assert [event.task for event in progress.failed] == ["b"]
    assert "b: FAILED. no answer came back" in capsys.readouterr().out


def events_of(folder, monkeypatch, start):
    monkeypatch.setattr(engines._Process, "_start", start)
    job = Job(0, ModelSpec(COSINE), ("a", "b"), Options(), Store(folder))
    return list(engines.run_in_processes([job], 1, []))


def test_a_worker_that_cannot_start_fails_its_cells(folder, monkeypatch):
    def start(self, place):
        raise OSError(errno.EISDIR, "Is a directory")

    found = events_of(folder, monkeypatch, start)
    assert [(event.task, event.status) for event in found] == [("a", "failed"), ("b", "failed")]
    assert "cannot be used: IsADirectoryError" in found[0].message
    assert found[0].log.endswith("worker-1.log")


def test_a_worker_whose_answer_is_garbled_fails_its_cells(folder, monkeypatch):
    def start(self, place):
        code = "import sys; sys.stdout.write('no pickle'); sys.stdout.flush(); input()"
        pipes = dict.fromkeys(("stdin", "stdout"), subprocess.PIPE)
        return subprocess.Popen([sys.executable, "-S", "-c", code], **pipes)

    found = events_of(folder, monkeypatch, start)
    assert [event.status for event in found] == ["failed", "failed"]
    assert "UnpicklingError" in found[0].message


def test_a_worker_ends_when_nobody_can_send_it_jobs(monkeypatch):
    ended = []
    monkeypatch.setattr(worker_process.os, "_exit", ended.append)
    worker_process._receive(io.BytesIO(b""), lambda job: None)
    assert ended == [0]


def test_a_worker_starts_without_the_working_folder_on_its_path(folder, monkeypatch):
    seen = []
    monkeypatch.setattr(subprocess, "Popen", lambda words, **_: seen.append(words))
    engines._Process(0, None, 1)._start(folder)
    assert seen[0][:3] == [sys.executable, "-P", "-c"]


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOLCK, "No locks available"), NotImplementedError("no flock")]
)
def test_a_file_system_without_locks_is_named(folder, monkeypatch, capsys, error):
    def acquire(self, *_, **__):
        raise error

    monkeypatch.setattr("filelock.FileLock.acquire", acquire)
    assert run(folder, tasks=["WikiQA.sample"]) == 1
    printed = capsys.readouterr().err
    assert "does not lock files" in printed
    assert "--output-folder on a local disk" in printed


@pytest.mark.parametrize(
    "name",
    [".lab/model", "../x", "a/b/c", "a", "a/..", "a/b\\c", "a/b\n", "a/" + "b" * 200, "a/b:c"],
)
def test_a_name_under_which_no_command_finds_the_results(tmp_path, name):
    with pytest.raises(ModelError, match="is not like organisation/model"):
        ModelSpec(str(tmp_path), name=name).check()


def test_a_saved_plan_names_folders_in_full(tmp_path, monkeypatch, tiny_folder):
    monkeypatch.chdir(tiny_folder.parent)
    spec = ModelSpec(tiny_folder.name)
    plan = tmp_path / "plan.toml"
    plan.write_text(write_plan(Plan((spec,), ("WikiQA",))))
    monkeypatch.chdir("/")
    [model] = read_plan(plan).models
    assert model.folder == tiny_folder


def test_a_relative_folder_of_a_plan_is_beside_it(tmp_path, monkeypatch):
    (tmp_path / "here" / "model").mkdir(parents=True)
    plan = tmp_path / "here" / "plan.toml"
    plan.write_text('tasks = ["WikiQA"]\n[[models]]\nmodel = "model"\n')
    monkeypatch.chdir(tmp_path)
    assert read_plan(plan).models[0].folder == tmp_path / "here" / "model"


@pytest.fixture
def tiny_folder(tmp_path):
    """A folder that looks like a model, and is never loaded."""
    folder = tmp_path / "models" / "tiny"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text('{"architectures": ["BertModel"]}')
    return folder


def test_a_folder_that_changes_before_it_is_loaded_is_not_run(tiny_folder, monkeypatch):
    spec = ModelSpec(str(tiny_folder))
    monkeypatch.setattr(ModelSpec, "_load_folder", lambda *_: ToyEncoder(spread))
    spec.load("cpu")
    (tiny_folder / "weights.bin").write_bytes(b"other")
    with pytest.raises(ModelError, match="changed after the run looked at it"):
        spec.load("cpu")


def test_a_folder_without_a_model_that_hides_one(tmp_path, monkeypatch, caplog):
    (tmp_path / COUNT).mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelError, match="holds no model"):
        ModelSpec(COUNT).check()
    assert f"{COUNT} is a folder here, and the folder is run" in caplog.text


def test_a_folder_that_hides_a_known_model_is_said_once(tiny_folder, monkeypatch, caplog):
    hiding = tiny_folder.parent / "mteb-ext" / "token-cosine"
    hiding.parent.mkdir()
    tiny_folder.rename(hiding)
    monkeypatch.chdir(tiny_folder.parent)
    for _ in range(2):
        ModelSpec(COSINE).check()
    [line] = [r.getMessage() for r in caplog.records if "is a folder here" in r.getMessage()]
    assert line.startswith(COSINE)
