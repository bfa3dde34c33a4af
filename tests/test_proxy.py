from __future__ import annotations

import gc

import numpy as np
import pytest
from conftest import ToyCrossEncoder, ToyEncoder, spread

from mteb_ext import ProtocolError, clear_memory, proxy
from mteb_ext.context import Call
from mteb_ext.proxy import ProtocolModel, Texts


def texts(values, name="text"):
    return Texts(values, None, lambda i: f"{name} of row {i}")


RUN = {"show_progress_bar": False}


def scorer(model, run=RUN):
    import mteb

    return ProtocolModel(model, Call(mteb.get_task("JACSTS").metadata, "test", "default"), run)


def score(model, left, right, run=RUN):
    return scorer(model, run).score_pairs(texts(left, "left"), texts(right, "right"))


VECTORS = {"a": [1.0, 0.0], "b": [1.0, 1.0], "c": [0.0, 2.0], "zero": [0.0, 0.0]}


def test_cosine_by_hand():
    model = ToyEncoder(VECTORS.get)
    found = score(model, ["a", "a", "a", "b"], ["a", "b", "c", "c"])
    np.testing.assert_allclose(found, [1.0, 0.5**0.5, 0.0, 0.5**0.5], atol=1e-12)


def test_each_distinct_text_goes_through_the_model_once():
    model = ToyEncoder(spread)
    score(model, ["x", "y", "x"], ["y", "z", "x"])
    assert sorted(model.seen) == ["x", "y", "z"]
    score(model, ["z", "new"], ["x", "x"])
    assert sorted(model.seen) == ["new", "x", "y", "z"]


def test_the_sides_share_only_where_the_model_ignores_the_prompt_type():
    class Prompted(ToyEncoder):
        def encode(self, inputs, *, task_metadata, hf_split, hf_subset, prompt_type=None, **kwargs):
            found = [text for batch in inputs for text in batch["text"]]
            self.seen += [(prompt_type.value, text) for text in found]
            return np.array([spread(prompt_type.value + text) for text in found])

    from mteb.types import PromptType

    model = Prompted(None)
    same = ["x", "x"]
    scorer(model).score_pairs(
        Texts(same, PromptType.query, str), Texts(same, PromptType.document, str)
    )
    assert model.seen == [("query", "x"), ("document", "x")]


def test_a_cross_encoder_sees_each_distinct_pair_once():
    model = ToyCrossEncoder(lambda a, b: len(a) - 2 * len(b))
    found = score(model, ["aa", "b", "aa"], ["c", "dd", "c"])
    assert found.tolist() == [0.0, -3.0, 0.0]
    assert model.seen == [("aa", "c"), ("b", "dd")]


def test_the_memory_ends_with_the_model_and_with_clear_memory():
    model = ToyEncoder(spread)
    score(model, ["x"], ["y"])
    clear_memory()
    score(model, ["x"], ["y"])
    assert len(model.seen) == 4
    del model
    gc.collect()
    assert not proxy._memory._stores


def test_the_memory_keeps_within_its_limit(monkeypatch):
    monkeypatch.setattr(proxy, "MEMORY_LIMIT", 2_000)
    model = ToyEncoder(spread)
    many = [f"text {i}" for i in range(200)]
    first = score(model, many, many[::-1])
    assert sum(store.nbytes for store in proxy._memory._stores.values()) <= 2_000
    assert np.array_equal(score(model, many, many[::-1]), first)
    assert len(model.seen) == 400


def test_trained_weights_are_encoded_anew():
    torch = pytest.importorskip("torch")

    class Torch(ToyEncoder):
        def __init__(self):
            super().__init__(lambda text: self.model.weight.detach().numpy()[0] + len(text))
            self.model = torch.nn.Linear(2, 1)

    model = Torch()
    score(model, ["x"], ["yy"])
    score(model, ["x"], ["yy"])
    assert len(model.seen) == 2
    optimizer = torch.optim.SGD(model.model.parameters(), lr=1.0)
    model.model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    score(model, ["x"], ["yy"])
    assert len(model.seen) == 4


def test_another_run_encodes_anew():
    model = ToyEncoder(spread)
    first = score(model, ["x"], ["y"])
    model.vector = lambda text: spread(text + "changed")
    assert score(model, ["x"], ["y"], run=dict(RUN)) != first
    assert len(model.seen) == 4


def test_a_model_that_cannot_be_watched_is_not_remembered():
    class Slotted:
        __slots__ = ("mteb_model_meta", "seen", "vector")

        def __init__(self):
            self.vector, self.seen, self.mteb_model_meta = spread, [], None

        encode = ToyEncoder.encode
        similarity = ToyEncoder.similarity
        similarity_pairwise = ToyEncoder.similarity_pairwise

    model = Slotted()
    score(model, ["x"], ["y"])
    score(model, ["x"], ["y"])
    assert len(model.seen) == 4
    assert not proxy._memory._stores


def test_threads_share_one_model():
    from concurrent.futures import ThreadPoolExecutor

    model = ToyEncoder(spread)
    left, right = [f"l{i}" for i in range(60)], [f"r{i}" for i in range(60)]
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: score(model, left, right), range(32)))
    assert all(np.array_equal(result, results[0]) for result in results)
    assert len(model.seen) == 120


def test_zero_vectors_have_cosine_zero_and_one_warning_with_a_count():
    model = ToyEncoder(VECTORS.get)
    with pytest.warns(RuntimeWarning, match="2 of 3 pairs") as caught:
        found = score(model, ["a", "zero", "zero"], ["b", "a", "zero"])
    assert found[1:].tolist() == [0.0, 0.0]
    assert len(caught) == 1


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_a_value_that_is_not_finite_names_the_first_row(bad):
    model = ToyEncoder(lambda text: [bad if text == "c" else 1.0, 1.0])
    with pytest.raises(ProtocolError, match=r"1 of 3 texts; the first is right of row 1"):
        score(model, ["a", "b"], ["a", "c"])


def test_too_few_rows_name_the_first_text_without_one():
    model = ToyEncoder(spread)
    full = model.encode
    model.encode = lambda inputs, **kwargs: full(
        inputs, task_metadata=None, hf_split="", hf_subset=""
    )[:2]
    with pytest.raises(ProtocolError, match=r"2 rows for 3 texts; the first .* is right of row 0"):
        score(model, ["a", "b"], ["c", "a"])


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (np.ones, r"shape \(2,\) for 2 texts"),
        (lambda n: np.ones((n, 2, 3)), r"shape \(2, 2, 3\)"),
        (lambda n: [[1.0], [1.0, 2.0]], "expected 2 embeddings of one length"),
        (lambda n: np.array([["x"], ["y"]]), "expected 2 embeddings"),
        (lambda n: np.ones((n, 2)) * 1j, "complex"),
        (lambda n: np.ones((n + 1, 2)), "3 rows for 2 texts"),
    ],
)
def test_what_is_no_embedding_is_refused(returned, message):
    model = ToyEncoder(None)
    model.encode = lambda inputs, **kwargs: returned(2)
    with pytest.raises(ProtocolError, match=message):
        score(model, ["a"], ["b"])


def test_a_classifier_is_no_cross_encoder():
    model = ToyCrossEncoder(lambda a, b: [0.1, 0.9])
    with pytest.raises(ProtocolError, match="one score a pair"):
        score(model, ["a"], ["b"])


def test_a_cross_encoders_nan_names_the_pair():
    model = ToyCrossEncoder(lambda a, b: float("nan") if a == "b" else 0.5)
    with pytest.raises(ProtocolError, match=r"left of row 1 with right of row 1"):
        score(model, ["a", "b"], ["a", "c"])


@pytest.mark.parametrize("precision", ["int8", "uint8", "binary", "ubinary"])
def test_quantised_embeddings_are_refused(precision):
    with pytest.raises(ProtocolError, match=f"precision='{precision}' quantises"):
        scorer(ToyEncoder(spread), {"precision": precision})


def test_float32_precision_is_the_default():
    scorer(ToyEncoder(spread), {"precision": "float32"})


def test_a_cross_encoder_finds_the_columns_that_mtebs_rerankers_read():
    class Reranker(ToyCrossEncoder):
        def predict(self, inputs1, inputs2, **kwargs):
            left = [text for batch in inputs1 for text in batch["query"]]
            right = [text for batch in inputs2 for text in batch["body"]]
            return [self.score(*pair) for pair in zip(left, right, strict=True)]

    assert score(Reranker(lambda a, b: len(a + b)), ["a"], ["bb"]).tolist() == [3.0]


def test_neither_encoder_nor_cross_encoder():
    with pytest.raises(ProtocolError, match="neither an mteb encoder nor a cross-encoder"):
        scorer(object())


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8"])
def test_any_number_type_gives_the_same_cosine(dtype):
    vectors = {"a": [3, 4], "b": [4, 3], "c": [-4, 3]}
    model = ToyEncoder(lambda text: np.array(vectors[text], dtype=dtype))
    found = score(model, ["a", "a"], ["b", "c"])
    np.testing.assert_allclose(found, [24 / 25, 0.0], atol=1e-12)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
@pytest.mark.parametrize("kind", ["dense", "sparse", "list"])
def test_torch_tensors(dtype, kind):
    torch = pytest.importorskip("torch")
    vectors = torch.tensor([[3.0, 4.0], [4.0, 3.0]], dtype=getattr(torch, dtype))
    returned = {"dense": vectors, "sparse": vectors.to_sparse(), "list": list(vectors)}[kind]
    model = ToyEncoder(None)
    model.encode = lambda inputs, **kwargs: returned
    np.testing.assert_allclose(score(model, ["a"], ["b"]), [24 / 25], atol=1e-12)


@pytest.mark.parametrize("scale", [1e-300, 1e-30, 1e30, 1e300])
def test_very_long_and_very_short_vectors(scale):
    model = ToyEncoder(lambda text: np.array({"a": [3.0, 4.0], "b": [4.0, 3.0]}[text]) * scale)
    np.testing.assert_allclose(score(model, ["a"], ["b"]), [24 / 25], atol=1e-12)


def test_exact_ties_stay_ties():
    # cos = 1/sqrt(3) both times, by different roundings: 1/sqrt(1*3) and 3/sqrt(3*9).
    ones = {"a": 1, "b": 3, "c": 9}
    model = ToyEncoder(lambda text: np.array([1.0] * ones[text] + [0.0] * (9 - ones[text])))
    judge = scorer(model)
    first, second = judge.for_ranks(judge.score_pairs(texts(["a", "b"]), texts(["b", "c"])))
    assert first == second


def test_pairs_beyond_one_chunk(monkeypatch):
    model = ToyEncoder(spread)
    left, right = [f"l{i % 7}" for i in range(50)], [f"r{i % 11}" for i in range(50)]
    whole = score(model, left, right)
    monkeypatch.setattr(proxy, "_CHUNK_VALUES", 24)
    assert np.array_equal(score(model, left, right), whole)
    expected = [
        spread(a) @ spread(b) / np.linalg.norm(spread(a)) / np.linalg.norm(spread(b))
        for a, b in zip(left, right, strict=True)
    ]
    np.testing.assert_allclose(whole, expected, atol=1e-12)
