"""The benchmark scripts, on made-up data and a model of a few vectors."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pytrec_eval")

pytestmark = pytest.mark.models  # a sentence-transformers model, if a small one


@pytest.fixture(autouse=True)
def _scripts_on_path(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "scripts")


@pytest.fixture
def tiny_model():
    from benchmark_tasks import TimedModel
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding
    from tokenizers import Tokenizer, models, pre_tokenizers

    byte_level = pre_tokenizers.ByteLevel()
    tokenizer = Tokenizer(models.BPE({c: i for i, c in enumerate(byte_level.alphabet())}, []))
    tokenizer.pre_tokenizer = byte_level
    return TimedModel(modules=[StaticEmbedding(tokenizer, embedding_dim=8)], device="cpu")


def test_every_runner_of_a_task_agrees_and_is_measured(tiny_model):
    from benchmark_measuring import rows_for, table, with_growth
    from benchmark_tasks import task_cases

    rows = with_growth(
        rows_for(task_cases(tiny_model, ["JACSTS.sample", "WikiQA.sample"], [0.5, 1.0]), rounds=1)
    )
    first = [*rows[:4], *rows[8:12]]
    runners = ["mteb_ext", "stock mteb", "sentence-transformers", "floor: encode"]
    assert [row.runner for row in rows] == runners * 4
    assert all(row.seconds > 0 for row in rows)
    assert [row for row in rows if math.isnan(row.growth)] == first
    lines = table(rows).split("\n")
    assert len(lines) == 2 + len(rows)
    assert {line.count("|") for line in lines} == {10}


def test_the_suites_time_outside_the_model(tiny_model):
    from benchmark_tasks import suite_rows

    whole, floor, outside = suite_rows(tiny_model, ["TRECQA.sample", "STS17SemEval.sample"], 1)
    assert floor.size == whole.size > 0
    assert 0 < outside.seconds < whole.seconds
    assert outside.ratio == pytest.approx(outside.seconds / whole.seconds)


def test_the_padding_of_batches_by_characters_and_by_tokens(minilm):
    import mteb
    from benchmark_batches import batch_cases, padded, padding_table, paddings
    from benchmark_measuring import rows_for

    assert padded(np.array([5, 1, 2] + [1] * 31), np.arange(34)) == 32 * 5 + 2 * 1
    task = mteb.get_task("WikiQA.sample")
    task.load_data()
    found = list(paddings([task], minilm))
    assert {row.tokenizer for row in found} == {"the model's", "multilingual"}
    assert all(1 <= row.by_tokens <= row.by_characters for row in found)
    assert padding_table(found).count("WikiQA.sample") == 2
    ours, encode = rows_for(batch_cases(minilm, [task]), rounds=1)
    assert ours.size == encode.size == found[0].texts


def test_large_made_up_tasks():
    from benchmark_measuring import rows_for
    from benchmark_tasks import large_cases

    rows = rows_for(large_cases([300], [20]), rounds=1)
    assert [row.runner for row in rows] == ["mteb_ext", "stock mteb"] * 2


def test_kernels(monkeypatch):
    import benchmark_kernels
    from benchmark_measuring import rows_for

    monkeypatch.delitem(benchmark_kernels.RANKING_PEERS, "ranx")  # its import compiles for seconds
    rows = rows_for(benchmark_kernels.ranking_cases([5]), rounds=1)
    rows += rows_for(benchmark_kernels.correlation_cases([50]), rounds=1)
    assert [row.runner for row in rows] == ["mteb_ext", "pytrec_eval"] * 2 + [
        "mteb_ext",
        "scipy",
    ] * 2


def test_runners_that_disagree_are_an_error():
    from benchmark_measuring import Case, measure

    case = Case("sum", 1, {"mteb_ext": lambda: {"x": 1.0}, "peer": lambda: {"x": 1.1}})
    with pytest.raises(AssertionError, match="peer: x"):
        measure(case, rounds=1)


@pytest.mark.parametrize(
    ("sign", "bound", "verdict"),
    [(">=", 2, "met"), (">=", 2.1, "MISSED"), ("<=", 2, "met"), ("<=", 1.9, "MISSED")],
)
def test_targets(sign, bound, verdict):
    from benchmark import Target
    from benchmark_measuring import Row

    rows = [
        Row("sort", size, runner, seconds=1.0, ratio=ratio, cpu_ratio=ratio, peak_mib=1.0)
        for size, runner, ratio in [(1, "b", 9.0), (1, "a", 1.0), (2, "a", 1.5), (2, "b", 3.0)]
    ]
    assert Target("sort", "b", "a", sign, bound).verdict(rows).endswith(verdict)
    assert Target("sort", "c", "a", sign, bound).verdict(rows) == ""


@pytest.mark.process
def test_startup_cost():
    from startup_cost import fresh, import_ms, start_ms

    (start,) = fresh(start_ms, 1)
    ((inside, whole),) = fresh(import_ms, 1)
    assert 0 < start < 50
    assert 0 < inside < whole
