"""The same model on the same data gives the same files, whatever is around it."""

from __future__ import annotations

import json
import locale
import os
import subprocess
import sys
from dataclasses import replace
from random import Random

import mteb
import numpy as np
import pytest
from conftest import ToyEncoder, spread

from mteb_ext.plugin.lookup import paper_task

# What may differ between two runs: when it was, how long it took, and what names these.
OF_A_RESULT = {"date", "evaluation_time", "evaluation_phases"}
OF_A_STAMP = {"seconds", "command", "result_sha256"}


def files(folder):
    """The files that a run has left, as text; without what may differ."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if name.startswith((".running", "logs")) or not path.is_file():
            continue
        found[name] = path.read_text()
        if path.suffix in {".json", ".stamp"} and name.startswith("results"):
            may = OF_A_STAMP if path.suffix == ".stamp" else OF_A_RESULT
            content = json.loads(found[name])
            found[name] = json.dumps({k: v for k, v in content.items() if k not in may})
    return found


def german():
    """A locale with a decimal comma, where there is one."""
    before = locale.setlocale(locale.LC_NUMERIC)
    for name in ("de_DE.UTF-8", "de_DE.utf8", "de_DE"):
        try:
            locale.setlocale(locale.LC_NUMERIC, name)
        except locale.Error:
            continue
        locale.setlocale(locale.LC_NUMERIC, before)
        return name
    return "C.UTF-8"


SURROUNDINGS = [
    {"PYTHONHASHSEED": "0", "LC_ALL": "C", "TZ": "UTC"},
    {"PYTHONHASHSEED": "1", "LC_ALL": "C.UTF-8", "TZ": "Asia/Tokyo"},
    {"PYTHONHASHSEED": "random", "LC_ALL": german(), "TZ": "America/St_Johns"},
]


@pytest.mark.process
def test_hash_seed_locale_and_time_zone_change_no_file(tmp_path, minilm_folder):
    left = []
    for number, around in enumerate(SURROUNDINGS):
        folder = tmp_path / str(number)
        arguments = ["-m", "mteb-ext/sentence-bleu", "mteb-ext/token-cosine", str(minilm_folder)]
        tasks = ["-t", "WikiQA.sample", "JACSTS.sample", "STS17SemEval.sample"]
        where = ["--output-folder", str(folder), "--device", "cpu"]
        done = subprocess.run(
            [sys.executable, "-m", "mteb_ext", "run", *arguments, *tasks, *where],
            env={**os.environ, **around},
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        left.append(files(folder))
    assert len(left[0]) == 3 * (3 * 3 + 2)  # a result, a stamp, predictions; metadata, settings
    assert left[0] == left[1] == left[2]


@pytest.mark.parametrize("name", ["WikiQA.sample", "TRECQA.sample", "QABot.sample"])
@pytest.mark.parametrize("model", ["mteb-ext/word-count", "mteb-ext/token-cosine", "vectors"])
def test_the_order_of_candidates_changes_no_score(name, model, monkeypatch):
    def scores():
        loaded = ToyEncoder(spread) if model == "vectors" else mteb.get_model(model)
        result = mteb.evaluate(loaded, mteb.get_task(name), cache=None)
        return result.task_results[0].scores["test"][0]

    before, task = scores(), paper_task(name)
    read = task.read

    def shuffled(source, split, subset):
        return [
            replace(
                question,
                candidate_ids=[question.candidate_ids[i] for i in order],
                candidates=[question.candidates[i] for i in order],
                labels=[question.labels[i] for i in order],
            )
            for question in read(source, split, subset)
            if (order := Random(question.id).sample(range(len(question)), len(question)))
        ]

    monkeypatch.setattr(task, "read", shuffled)
    after = scores()
    # One order of equal scores is that of the file; trec_eval's is that of the names.
    ordered = [key for key in before if key.endswith("_later_first")]
    assert len(ordered) > 1
    numbers = [key for key, value in before.items() if isinstance(value, (int, float))]
    kept = {key: before[key] for key in numbers if key not in ordered}
    assert len(kept) > 40
    assert {key: after[key] for key in kept} == pytest.approx(kept, abs=1e-12)


@pytest.mark.models
def test_batch_sizes_change_no_score_beyond_rounding(minilm, tmp_path):
    found = []
    for size in (1, 5, 64):
        folder = tmp_path / str(size)
        mteb.evaluate(
            minilm,
            mteb.get_tasks(tasks=["STSBenchmarkSemEval.sample", "WikiQA.sample"]),
            cache=None,
            encode_kwargs={"batch_size": size, "show_progress_bar": False},
            prediction_folder=folder,
        )
        pairs, ranking = (
            json.loads((folder / f"{name}.sample_predictions.json").read_text())["default"]["test"]
            for name in ("STSBenchmarkSemEval", "WikiQA")
        )
        of_candidates = [score for by_id in ranking.values() for score in by_id.values()]
        found.append(np.array([*pairs["cosine_scores"], *of_candidates]))
    assert found[0] == pytest.approx(found[1], abs=2e-6)
    assert found[0] == pytest.approx(found[2], abs=2e-6)
