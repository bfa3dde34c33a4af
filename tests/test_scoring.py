"""What models return, turned into scores: literal vectors, results by hand or by numpy."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
import torch
from conftest import ToyCrossEncoder, ToyEncoder, spread, toy_meta
from hypothesis import given
from hypothesis import strategies as st
from mteb.types import PromptType
from scipy import sparse

from mteb_ext import ProtocolError
from mteb_ext.encoding import Call, Scorer, Texts, output
from mteb_ext.encoding.scorer import _distinct


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


def test_a_vector_with_itself_and_its_opposite():
    rng = np.random.default_rng(0)
    vectors = {str(i): rng.standard_normal(50) for i in range(100)}
    names = [*vectors]
    vectors |= {f"-{name}": -3 * vectors[name] for name in names}
    model = ToyEncoder(vectors.get)
    assert set(score(model, names, names)) == {1.0}
    assert set(score(model, names, [f"-{name}" for name in names])) == {-1.0}


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


def test_a_cross_encoders_scores_stay_with_their_pairs():
    model = ToyCrossEncoder(lambda a, b: float(a + b))
    left, right = ["3", "1", "2", "1", "3"], ["1", "3", "3", "1", "1"]
    assert score(model, left, right).tolist() == [31.0, 13.0, 23.0, 11.0, 31.0]
    assert model.seen == [("3", "1"), ("1", "3"), ("2", "3"), ("1", "1")]


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
        (lambda n: [b"ab"] * n, "S2 values"),
        (lambda n: [bytearray(b"ab")] * n, "packed bits"),
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
    vectors = torch.tensor([[3.0, 4.0], [4.0, 3.0]], dtype=getattr(torch, dtype))
    returned = {"dense": vectors, "sparse": vectors.to_sparse(), "list": list(vectors)}[kind]
    model = ToyEncoder(None)
    model.encode = lambda inputs, **kwargs: returned
    np.testing.assert_allclose(score(model, ["a"], ["b"]), [24 / 25], atol=1e-12)


@pytest.mark.parametrize("kind", ["meta", "nested"])
@pytest.mark.filterwarnings("ignore:.*prototype")
def test_torch_tensors_without_an_array_of_values(kind):
    class Odd(ToyEncoder):
        def encode(self, inputs, **kwargs):
            rows = sum(len(batch["text"]) for batch in inputs)
            if kind == "meta":
                return torch.empty((rows, 2), device="meta")
            return torch.nested.nested_tensor([torch.ones(i + 1) for i in range(rows)])

    with pytest.raises(ProtocolError, match="a torch tensor that holds no array of numbers"):
        score(Odd(None), ["a"], ["b"])


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


@pytest.mark.parametrize(
    "values",
    [
        pytest.param(lambda x: np.array(x, dtype="f8"), id="float64"),
        pytest.param(lambda x: np.array(x, dtype=">f8"), id="big-endian"),
        pytest.param(lambda x: np.array(x, dtype=np.longdouble), id="longdouble"),
        pytest.param(lambda x: torch.tensor(x, dtype=torch.float64), id="torch"),
        pytest.param(lambda x: [torch.tensor(v, dtype=torch.float64) for v in x], id="tensors"),
        pytest.param(list, id="list"),
    ],
)
def test_scores_keep_what_float64_holds(values):
    fine = [1.0, 1.0 + 1e-12, 1e-60]
    model = ToyCrossEncoder(None)
    model.predict = lambda inputs1, inputs2, **kwargs: values(fine)
    assert score(model, ["a", "b", "c"], ["x", "y", "z"]).tolist() == fine


def test_large_whole_numbers_are_no_ties():
    model = ToyCrossEncoder(None)
    model.predict = lambda inputs1, inputs2, **kwargs: np.array([2**40, 2**40 + 1])
    assert score(model, ["a", "b"], ["x", "y"]).tolist() == [2**40, 2**40 + 1]


def test_large_whole_numbers_in_embeddings():
    vectors = {"a": [2**30 + 7, 2**30], "b": [1, -1]}
    model = ToyEncoder(lambda text: np.array(vectors[text]))
    np.testing.assert_allclose(score(model, ["a"], ["b"]), [7 / 2**31], rtol=1e-3)


def test_a_masked_score_is_missing():
    model = ToyCrossEncoder(None)
    model.predict = lambda inputs1, inputs2, **kwargs: np.ma.array([0.5, 0.1], mask=[False, True])
    with pytest.raises(ProtocolError, match=r"left of row 1 with right of row 1"):
        score(model, ["a", "b"], ["x", "y"])


def test_no_batch_size_is_the_default_one():
    class Batched(ToyEncoder):
        def encode(self, inputs, *, batch_size, **kwargs):
            assert batch_size == inputs.batch_size == 32
            return super().encode(inputs, **kwargs)

    model = Batched(spread)
    score(model, ["a"], ["b"], {"batch_size": None})
    assert model.seen == ["a", "b"]


def test_both_sides_have_one_dimension():
    class Uneven(ToyEncoder):
        def encode(self, inputs, *, prompt_type, **kwargs):
            return np.ones((1, 4 if prompt_type == PromptType.query else 5))

    with pytest.raises(ProtocolError, match=r"4 dimensions for one side .* 5 for the other"):
        scorer(Uneven(None)).score_pairs(
            texts(["a"], prompt_type=PromptType.query),
            texts(["b"], prompt_type=PromptType.document),
        )


def test_a_model_may_fill_one_buffer_again():
    class OneBuffer(ToyEncoder):
        def __init__(self):
            super().__init__(None)
            self.buffer = np.zeros((1, 2))

        def encode(self, inputs, *, prompt_type, **kwargs):
            self.buffer[:] = [1, 0] if prompt_type == PromptType.query else [3, 4]
            return self.buffer

    found = scorer(OneBuffer()).score_pairs(
        texts(["a"], prompt_type=PromptType.query), texts(["b"], prompt_type=PromptType.document)
    )
    assert found.tolist() == [0.6]


def test_an_encoder_of_the_old_signature():
    class Old(ToyEncoder):
        def encode(self, sentences, batch_size=32):
            raise AssertionError("never run")

    with pytest.raises(
        ProtocolError, match=r"does not take what mteb hands to it .*Expected: enco"
    ):
        score(Old(None), ["a"], ["b"])


SPARSE = {"a": [3.0, 0.0, 4.0], "b": [0.0, 5.0, 0.0], "c": [4.0, 0.0, 3.0], "zero": [0.0] * 3}


@pytest.mark.parametrize("kind", ["csr", "coo", "csc matrix", "torch coo", "torch csr", "float64"])
@pytest.mark.filterwarnings("ignore:.*all zeros", "ignore:Sparse")
def test_sparse_embeddings_stay_sparse(kind):
    def returned(dense):
        return {
            "csr": lambda: sparse.csr_array(dense.astype("f4")),
            "coo": lambda: sparse.coo_array(dense),
            "csc matrix": lambda: sparse.csc_matrix(dense),
            "torch coo": lambda: torch.tensor(dense).float().to_sparse(),
            "torch csr": lambda: torch.tensor(dense).to_sparse_csr(),
            "float64": lambda: sparse.csr_array(dense * 1e-300),
        }[kind]()

    model = ToyEncoder(SPARSE.get)
    dense = model.encode
    model.encode = lambda inputs, **kwargs: returned(
        dense(inputs, task_metadata=None, hf_split="", hf_subset="")
    )
    found = score(model, ["a", "a", "a", "a"], ["a", "b", "c", "zero"])
    np.testing.assert_allclose(found, [1.0, 0.0, 24 / 25, 0.0], atol=1e-12)
    vectors = output.Vectors(returned(np.eye(3)), 3, str)
    assert vectors.array.nnz == 3


def test_bytes_are_numbers_where_the_precision_says_so():
    model = ToyEncoder(lambda text: np.array({"a": [3, 4], "b": [4, 3]}[text], dtype="u1"))
    assert score(model, ["a"], ["b"], {"precision": "uint8"}).tolist() == [0.96]


@pytest.mark.filterwarnings("ignore:torch.quantize")
def test_quantised_torch_tensors_have_values():
    model = ToyEncoder(None)
    model.encode = lambda inputs, **kwargs: torch.quantize_per_tensor(
        torch.tensor([[3.0, 4.0], [4.0, 3.0]]), 0.5, 0, torch.qint8
    )
    assert score(model, ["a"], ["b"]).tolist() == [0.96]


@given(st.lists(st.lists(st.text(max_size=2), max_size=4), min_size=1, max_size=4))
def test_distinct_texts_in_the_order_of_their_first_place(chunks):
    values = [text for chunk in chunks for text in chunk]
    column = pa.chunked_array(chunks, pa.string())
    rows, first = _distinct(column)
    expected = list(dict.fromkeys(values))
    assert [values[i] for i in first] == expected
    assert [expected[i] for i in rows] == values
