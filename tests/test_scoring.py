"""What models return, turned into scores: literal vectors, results by hand or by numpy."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from conftest import ToyCrossEncoder, ToyEncoder, spread, toy_meta

from mteb_ext import ProtocolError
from mteb_ext.scoring import Call, Scorer, Texts, output


def texts(values, name="text", prompt_type=None):
    column = pa.chunked_array([values], pa.string())
    return Texts(column, np.arange(len(values)), prompt_type, lambda i: f"{name} of row {i}")


RUN = {"show_progress_bar": False}


def scorer(model, run=RUN):
    import mteb

    return Scorer(model, Call(mteb.get_task("JACSTS").metadata, "test", "default"), run)


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
    assert model.seen == ["x", "y", "z"]


def test_nothing_is_kept_from_one_call_to_the_next():
    model = ToyEncoder(spread)
    options = {"show_progress_bar": False}
    first = score(model, ["x"], ["y"], options)
    model.vector = lambda text: spread(text + "changed")
    assert score(model, ["x"], ["y"], options) != first
    assert model.seen == ["x", "y", "x", "y"]


def test_query_and_document_are_encoded_apart():
    class Prompted(ToyEncoder):
        def encode(self, inputs, *, task_metadata, hf_split, hf_subset, prompt_type=None, **kwargs):
            found = [text for batch in inputs for text in batch["text"]]
            self.seen += [(prompt_type.value, text) for text in found]
            return np.array([spread(prompt_type.value + text) for text in found])

    from mteb.types import PromptType

    model = Prompted(None)
    same = ["x", "x"]
    scorer(model).score_pairs(
        texts(same, prompt_type=PromptType.query), texts(same, prompt_type=PromptType.document)
    )
    assert model.seen == [("query", "x"), ("document", "x")]


def test_a_cross_encoder_sees_each_distinct_pair_once():
    model = ToyCrossEncoder(lambda a, b: len(a) - 2 * len(b))
    found = score(model, ["aa", "b", "aa"], ["c", "dd", "c"])
    assert found.tolist() == [0.0, -3.0, 0.0]
    assert model.seen == [("aa", "c"), ("b", "dd")]


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
        (lambda n: np.ones((n, 0)), r"shape \(2, 0\) for 2 texts"),
        (lambda n: {"dense": np.ones((n, 2))}, r"2 embeddings .*found dict with 'dense'"),
        (lambda n: object(), "2 embeddings .*found object"),
        (lambda n: None, "2 embeddings .*found NoneType"),
        (lambda n: np.ones((n, 2), dtype="u1"), "packed bits"),
        (lambda n: np.ma.array(np.ones((n, 2)), mask=[[0, 0], [0, 1]]), "NaN .* right of row 0"),
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


@pytest.mark.parametrize("precision", ["binary", "ubinary"])
def test_packed_bits_are_refused(precision):
    with pytest.raises(ProtocolError, match=f"precision='{precision}' packs"):
        scorer(ToyEncoder(spread), {"precision": precision})


@pytest.mark.parametrize("precision", ["int8", "uint8"])
def test_quantised_embeddings_are_named(precision):
    assert scorer(ToyEncoder(spread), {"precision": precision}).remarks == {"quantised": precision}
    model = ToyEncoder(spread)
    model.mteb_model_meta = toy_meta(experiment_kwargs={"output_dtypes": precision})
    assert scorer(model).remarks == {"quantised": precision}  # mteb's CompressionWrapper says so


@pytest.mark.parametrize("kwargs", [{}, {"precision": "float32"}, {"precision": None}])
def test_there_is_nothing_to_remark_on_cosine_and_floats(kwargs):
    model = ToyEncoder(spread)
    model.mteb_model_meta = toy_meta(similarity_fn_name="cosine")
    assert scorer(model, kwargs).remarks == {}


def test_a_similarity_other_than_cosine_is_named():
    model = ToyEncoder(spread)
    model.mteb_model_meta = toy_meta(similarity_fn_name="dot")
    assert scorer(model).remarks == {"declared_similarity": "dot"}


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
    first, second = score(model, ["a", "b"], ["b", "c"])
    assert first == second


def test_pairs_beyond_one_chunk(monkeypatch):
    model = ToyEncoder(spread)
    left, right = [f"l{i % 7}" for i in range(50)], [f"r{i % 11}" for i in range(50)]
    whole = score(model, left, right)
    monkeypatch.setattr(output, "_CHUNK_VALUES", 24)
    assert np.array_equal(score(model, left, right), whole)
    expected = [
        spread(a) @ spread(b) / np.linalg.norm(spread(a)) / np.linalg.norm(spread(b))
        for a, b in zip(left, right, strict=True)
    ]
    np.testing.assert_allclose(whole, expected, atol=1e-12)
