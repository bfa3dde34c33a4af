"""Batches by tokens: hardly any padding, the same embeddings, and other models called as ever."""

from __future__ import annotations

import copy
import pickle
from itertools import chain, pairwise, product

import mteb
import numpy as np
import pytest
import sentence_transformers
import torch
from conftest import ToyEncoder, spread
from datasets import Dataset
from hypothesis import example, given, settings
from hypothesis import strategies as st
from mteb.models import (
    CompressionWrapper,
    CrossEncoderWrapper,
    MultiVectorWrapper,
    SentenceTransformerEncoderWrapper,
    SparseEncoderWrapper,
)
from mteb.types import PromptType
from torch.utils.data import DataLoader

from mteb_ext import SharedEmbeddings
from mteb_ext.cli import main
from mteb_ext.data.records import Pairs
from mteb_ext.encoding import batches
from mteb_ext.encoding.batches import by_tokens, calls_of, token_counts
from mteb_ext.plugin.discovery import own_tasks

ALLOWED = 1.05  # padded over real tokens
WORDS = ["a", "b", "c", "an", "extraordinarily", "incomprehensibilities", "query:", "document:"]


SIZE = 8  # of batches


def made_up_texts(n=320):
    """Texts of 1 to 40 words. Many short words have fewer characters than few long ones."""
    rng = np.random.default_rng(0)
    texts = []
    for i in range(n):
        words = WORDS[:4] if i % 2 else WORDS[4:6]
        texts.append(" ".join(rng.choice(words, size=rng.integers(1, 41 if i % 2 else 9))))
    return texts


TEXTS = made_up_texts()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A function of a transformers class to a folder with such a model: a word is a token."""
    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import BertConfig, PreTrainedTokenizerFast

    home = tmp_path_factory.mktemp("models")
    vocabulary = {
        word: i for i, word in enumerate(["[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]", *WORDS])
    }
    inner = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    inner.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    special = [("[CLS]", 1), ("[SEP]", 2)]
    inner.post_processor = processors.TemplateProcessing(
        "[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", special
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=inner,
        model_max_length=64,
        **{f"{name}_token": f"[{name.upper()}]" for name in ("pad", "cls", "sep", "unk", "mask")},
    )

    def make(class_name):
        path = home / class_name
        if not path.exists():
            torch.manual_seed(0)
            config = BertConfig(
                vocab_size=len(vocabulary),
                hidden_size=16,
                num_hidden_layers=1,
                num_attention_heads=2,
                intermediate_size=16,
                max_position_embeddings=64,
                num_labels=1,
            )
            getattr(transformers, class_name)(config).save_pretrained(path)
            tokenizer.save_pretrained(path)
        return str(path)

    return make


KINDS = {
    "SentenceTransformer": ("BertModel", SentenceTransformerEncoderWrapper),
    "SparseEncoder": ("BertForMaskedLM", SparseEncoderWrapper),
    "CrossEncoder": ("BertForSequenceClassification", CrossEncoderWrapper),
    "MultiVectorEncoder": ("BertModel", MultiVectorWrapper),
}


@pytest.fixture(scope="module")
def models():
    """Models that are loaded, by kind; tests get copies."""
    return {}


@pytest.fixture
def wrapped(folder, models):
    """A function of a kind to mteb's wrapper of such a model."""

    def make(kind="SentenceTransformer", **options):
        architecture, wrapper = KINDS[kind]
        if not hasattr(sentence_transformers, kind):
            pytest.skip(f"this sentence-transformers has no {kind}")
        if kind not in models:
            models[kind] = getattr(sentence_transformers, kind)(folder(architecture), device="cpu")
        if not hasattr(models[kind], "preprocess"):
            pytest.skip("this sentence-transformers has no way to read texts as encode does")
        return wrapper(copy.deepcopy(models[kind]), **options)

    return make


class Computed:
    """What a model computes: the padded and the real tokens of each of its batches."""

    def __init__(self, model):
        self.padded, self.real, self.texts = [], [], []
        self.hook = model.register_forward_pre_hook(self.note)

    def note(self, module, arguments):
        mask = arguments[0]["attention_mask"]
        self.padded.append(mask.numel())
        self.real.append(int(mask.sum()))
        self.texts.append(len(mask))

    @property
    def ratio(self):
        return sum(self.padded) / sum(self.real)


def computed(model, act):
    """The result of an act, and what the model computed for it."""
    note = Computed(model)
    try:
        return act(), note
    finally:
        note.hook.remove()


def loader(texts, batch_size=SIZE):
    return DataLoader(Dataset.from_dict({"text": texts}), batch_size=batch_size)


CALL = {"hf_split": "test", "hf_subset": "default"}


def encoded(model, texts=TEXTS, prompt_type=None, task="WikiQA.sample", **options):
    metadata = mteb.get_task(task).metadata
    options = {"batch_size": SIZE, "show_progress_bar": False, **options}
    return model.encode(
        loader(texts), task_metadata=metadata, prompt_type=prompt_type, **CALL, **options
    )


PAIRS = list(zip(TEXTS, reversed(TEXTS), strict=True))


def predicted(model, **options):
    metadata = mteb.get_task("WikiQA.sample").metadata
    left, right = (loader(list(side)) for side in zip(*PAIRS, strict=True))
    options = {"batch_size": SIZE, "show_progress_bar": False, **options}
    return model.predict(left, right, task_metadata=metadata, **CALL, **options)


def searched(model):
    """What a multi-vector encoder finds: scores of each query's documents."""
    documents = Dataset.from_dict({"id": [f"d{i}" for i in range(240)], "text": TEXTS[:240]})
    queries = Dataset.from_dict({"id": [f"q{i}" for i in range(80)], "text": TEXTS[240:]})
    options = {
        "task_metadata": mteb.get_task("WikiQA.sample").metadata,
        **CALL,
        "encode_kwargs": {"batch_size": 4, "show_progress_bar": False},
        "num_proc": None,
    }
    model.index(documents, **options)
    found = model.search(queries, top_k=240, **options)
    return np.array([[found[q][d] for d in documents["id"]] for q in queries["id"]])


ACTS = {
    "SentenceTransformer": encoded,
    "SparseEncoder": lambda model: encoded(model).numpy(),
    "CrossEncoder": predicted,
    "MultiVectorEncoder": searched,
}


# Cutting into calls


def cut(counts, size):
    return [rows.tolist() for rows in calls_of(np.array(counts), size)]


def test_the_longest_come_first_and_the_batch_that_is_not_full():
    assert cut([3, 1, 2, 2, 5], 2) == [[4], [0, 2], [3, 1]]


def test_a_batch_is_cut_where_that_saves_more_than_a_batch_costs():
    # 3 * 100 + 4 + 1 and three batches of 64 beside 4 * 100 + 4 and two of them: 497 < 532.
    assert cut([100, 100, 100, 1, 1, 1, 1, 1], 4) == [[0, 1, 2], [3, 4, 5, 6, 7]]
    # 3 * 20 + 4 + 1 and three batches beside 4 * 20 + 4 and two: 257 > 212.
    assert cut([20, 20, 20, 1, 1, 1, 1, 1], 4) == [[0, 1, 2, 3], [4, 5, 6, 7]]


def test_batches_of_one_count_share_a_call():
    assert cut([7, 7, 7, 7, 7, 3, 3, 1], 2) == [[0, 1, 2, 3], [4, 5], [6, 7]]


def test_a_call_has_at_most_16_batches():
    assert [len(rows) for rows in cut([1] * 100, 3)] == [46, 48, 6]


def padded(counts, order, size):
    """The tokens with padding of batches that follow an order, as sentence-transformers cuts it."""
    parts = [order[start : start + size] for start in range(0, len(order), size)]
    return [len(part) * max(counts[row] for row in part) for part in parts]


TOKENS_AND_CHARACTERS = st.tuples(st.integers(1, 200), st.integers(1, 30))


@settings(deadline=None)
@given(st.lists(TOKENS_AND_CHARACTERS, min_size=1, max_size=50), st.integers(1, 9))
@example([(100, 1), (99, 3), (1, 2)], 2)  # by characters 99 with 1, then 100: 198 at most
def test_no_batch_is_larger_than_any_order_of_the_texts_needs(texts, size):
    counts = np.array([tokens for tokens, _ in texts])
    by_characters = sorted(range(len(texts)), key=lambda row: -texts[row][1])
    calls = cut(counts, size)
    assert sorted(chain.from_iterable(calls)) == list(range(len(texts)))
    largest = max(max(padded(counts, rows, size)) for rows in calls)
    assert largest <= max(padded(counts, by_characters, size))


@settings(deadline=None)
@given(st.lists(st.integers(1, 300), min_size=1, max_size=9), st.integers(1, 4))
def test_no_other_cuts_of_the_sorted_texts_cost_less(counts, size):
    lengths = sorted(counts, reverse=True)
    first = len(lengths) % size or size
    most = max(first * lengths[0], size * (lengths + [0] * size)[first])
    costs = []
    for marks in product([False, True], repeat=len(lengths) - 1):
        ends = [i + 1 for i, mark in enumerate(marks) if mark]
        parts = [lengths[a:b] for a, b in pairwise([0, *ends, len(lengths)])]
        sizes = [len(part) * part[0] for part in parts]
        if max(map(len, parts)) <= size and max(sizes) <= most:
            costs.append(sum(sizes) + 64 * len(parts))
    batches_ = [batch for rows in cut(counts, size) for batch in padded(counts, rows, size)]
    assert sum(batches_) + 64 * len(batches_) == min(costs)


# Every kind of model

EACH_KIND = [
    pytest.param(kind, marks=[pytest.mark.slow] if kind == "MultiVectorEncoder" else [])
    for kind in KINDS
]


@pytest.mark.parametrize("kind", EACH_KIND)
def test_a_model_computes_hardly_any_padding_and_finds_the_same(wrapped, kind):
    model = wrapped(kind)
    expected, plainly = computed(model.model, lambda: ACTS[kind](model))
    found, by_token = computed(model.model, lambda: ACTS[kind](by_tokens(model)))
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype
    atol = 1e-5 if kind == "MultiVectorEncoder" else 1e-6  # a sum over the query's tokens
    np.testing.assert_allclose(found, expected, rtol=0, atol=atol)
    assert by_token.ratio <= ALLOWED < plainly.ratio
    assert sum(by_token.real) == sum(plainly.real)
    assert max(by_token.padded) <= max(plainly.padded)
    assert max(by_token.texts) == max(plainly.texts)  # the batch size
    assert (ACTS[kind](by_tokens(model)) == found).all()


@pytest.mark.parametrize("kind", EACH_KIND)
def test_the_model_itself_is_left_as_it_is(wrapped, kind):
    model = wrapped(kind)
    before = dict(vars(model))
    twin = by_tokens(model)
    ACTS[kind](twin)
    assert isinstance(twin, type(model))
    assert vars(model) == before
    assert by_tokens(twin) is twin
    assert twin.mteb_model_meta is model.mteb_model_meta


def test_a_twin_can_be_copied_and_pickled(wrapped):
    twin = by_tokens(wrapped())
    for other in (copy.deepcopy(twin), pickle.loads(pickle.dumps(twin))):
        assert (encoded(other, TEXTS[:40]) == encoded(twin, TEXTS[:40])).all()


def test_tensors_stay_tensors(wrapped):
    model = wrapped()
    found = encoded(by_tokens(model), TEXTS[:40], convert_to_tensor=True)
    assert isinstance(found, torch.Tensor)
    np.testing.assert_allclose(found, encoded(model, TEXTS[:40]), rtol=0, atol=1e-6)


def test_half_precision_comes_as_it_does_plainly(wrapped):
    model = wrapped()
    for dtype in (torch.float16, torch.bfloat16):
        model.model.to(dtype)
        assert encoded(by_tokens(model), TEXTS[:40]).dtype == encoded(model, TEXTS[:40]).dtype


def test_truncated_dimensions(wrapped):
    model = wrapped()
    model.model.truncate_dim = 4
    found = encoded(by_tokens(model), TEXTS[:40])
    assert found.shape == (40, 4)
    np.testing.assert_allclose(found, encoded(model, TEXTS[:40]), rtol=0, atol=1e-6)


# Counting


def test_tokens_are_counted_as_the_model_reads_them(wrapped):
    model = wrapped().model
    texts = ["a", "a b c", "extraordinarily", " ".join(["a"] * 100)]
    assert token_counts(model, texts, 2).tolist() == [3, 5, 3, 64]  # [CLS], [SEP]; cut at 64
    assert token_counts(model, texts, 3, prompt="query: c ").tolist() == [5, 7, 5, 64]
    pairs = [("a", "b"), ("a b c", "a b")]
    assert token_counts(wrapped("CrossEncoder").model, pairs, 2).tolist() == [5, 8]


@pytest.mark.parametrize(
    ("side", "prompts", "options", "expected"),
    [
        (None, {}, {}, ""),
        (None, {"query": "query: "}, {}, ""),
        (PromptType.query, {"query": "query: "}, {}, "query: "),
        (PromptType.document, {"passage": "document: "}, {}, "document: "),
        (PromptType.query, {"WikiQA.sample": "a b: "}, {}, "a b: "),
        (PromptType.query, {"query": "query: ", "c": "c c: "}, {"prompt_name": "c"}, "c c: "),
    ],
)
def test_the_prompt_that_is_counted_is_the_one_that_is_read(
    wrapped, monkeypatch, side, prompts, options, expected
):
    model = wrapped()
    model.model.prompts = dict(prompts)
    # mteb's own prompts are those of tasks; the others are left to the model.
    model.model_prompts = {k: v for k, v in prompts.items() if k == "WikiQA.sample"} or None
    counted, read = [], []
    counts = batches.token_counts
    monkeypatch.setattr(
        batches, "token_counts", lambda *args, **how: counted.append(how) or counts(*args, **how)
    )
    preprocess = model.model.preprocess
    monkeypatch.setattr(
        model.model, "preprocess", lambda *args, **how: read.append(how) or preprocess(*args, **how)
    )
    encoded(by_tokens(model), TEXTS[:40], side, **options)
    assert (counted[0]["prompt"] or "") == expected
    assert all(how == read[-1] for how in read)  # the counting's and the model's own
    assert (read[-1]["prompt"] or "") == expected


def test_default_prompts_are_counted(wrapped, monkeypatch):
    model = wrapped()
    model.model.prompts, model.model.default_prompt_name = {"all": "a a a "}, "all"
    found, note = computed(model.model, lambda: encoded(by_tokens(model)))
    assert note.ratio <= ALLOWED
    np.testing.assert_allclose(found, encoded(model), rtol=0, atol=1e-6)


# Models and calls that are left alone


class Noted:
    """A sentence-transformers model whose calls are noted."""

    def __init__(self, monkeypatch, model, method="encode"):
        self.calls = []
        call = getattr(model, method)
        monkeypatch.setattr(
            model, method, lambda *args, **how: self.calls.append((args, how)) or call(*args, **how)
        )


def test_other_models_are_what_they_are():
    toy = ToyEncoder(spread)
    assert by_tokens(toy) is toy
    toy.model = toy
    assert by_tokens(toy) is toy


def test_a_wrapper_of_ones_own_is_what_it_is(wrapped):
    class OfItsOwn(SentenceTransformerEncoderWrapper):
        def encode(self, inputs, **options):
            return super().encode(inputs, **options)

    model = wrapped()
    model.__class__ = OfItsOwn
    assert by_tokens(model) is model


@pytest.mark.parametrize(
    "options",
    [
        {"precision": "int8"},
        {"precision": "ubinary"},
        {"output_value": "token_embeddings"},
        {"convert_to_numpy": False},
        {"device": ["cpu"]},
        {"pool": {}},
    ],
)
def test_a_call_that_is_one_stays_one(wrapped, monkeypatch, options):
    model = wrapped()
    calls = []
    monkeypatch.setattr(model.model, "encode", lambda *a, **k: calls.append((a, k)) or np.empty(0))
    for reader in (model, by_tokens(model)):
        encoded(reader, **options)
    assert calls[0] == calls[1]
    assert len(calls) == 2


def test_a_single_batch_is_called_as_ever(wrapped, monkeypatch):
    model = wrapped()
    noted = Noted(monkeypatch, model.model)
    for reader in (model, by_tokens(model)):
        encoded(reader, TEXTS[:SIZE])
    assert noted.calls[0] == noted.calls[1]


def test_a_model_that_joins_a_batch_into_one_row_is_called_as_ever(wrapped, monkeypatch):
    model = wrapped()
    preprocess = model.model.preprocess

    def flat(*args, **how):
        return {"attention_mask": preprocess(*args, **how)["attention_mask"].reshape(1, -1)}

    calls = []
    monkeypatch.setattr(model.model, "encode", lambda *a, **k: calls.append((a, k)) or np.empty(0))
    monkeypatch.setattr(model.model, "preprocess", flat)
    for reader in (model, by_tokens(model)):
        encoded(reader)
    assert calls[0] == calls[1]
    assert len(calls) == 2


def test_a_static_model_is_called_as_ever(monkeypatch, folder):
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import StaticEmbedding
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder("BertModel")).backend_tokenizer
    model = SentenceTransformerEncoderWrapper(
        SentenceTransformer(modules=[StaticEmbedding(tokenizer, embedding_dim=4)], device="cpu")
    )
    noted = Noted(monkeypatch, model.model)
    first, second = encoded(model), encoded(by_tokens(model))
    assert noted.calls[0] == noted.calls[1]
    assert (first == second).all()


def test_compressed_embeddings_are_as_ever(wrapped, monkeypatch):
    model = CompressionWrapper(wrapped())
    assert by_tokens(model) is model


# On the way from mteb to the model


def evaluated(model, task):
    options = {"cache": None, "show_progress_bar": False}
    found = mteb.evaluate(model, mteb.get_task(task), encode_kwargs={"batch_size": 4}, **options)
    return found.task_results[0].get_score()


@pytest.mark.parametrize(
    ("kind", "task", "shared"),
    [
        ("SentenceTransformer", "STSBenchmarkSemEval.sample", False),
        ("SentenceTransformer", "WikiQA.sample", True),
        ("SparseEncoder", "WikiQA.sample", False),
        ("CrossEncoder", "WikiQA.sample", False),
    ],
)
def test_tasks_of_this_package_run_by_tokens(wrapped, monkeypatch, no_data, kind, task, shared):
    model = wrapped(kind)
    found, note = computed(
        model.model, lambda: evaluated(SharedEmbeddings(model) if shared else model, task)
    )
    monkeypatch.setattr(batches, "token_counts", lambda *args, **how: None)
    expected, plainly = computed(model.model, lambda: evaluated(model, task))
    assert found == pytest.approx(expected, abs=1e-6)
    assert sum(note.padded) < sum(plainly.padded)
    assert sum(note.real) == sum(plainly.real)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "task"),
    [
        ("SentenceTransformer", "StockSTS"),
        ("SentenceTransformer", "StockRetrieval"),
        ("MultiVectorEncoder", "StockRetrieval"),
        ("SentenceTransformer", "STSBenchmarkSemEval.sample"),
    ],
)
def test_a_run_reads_by_tokens_the_tasks_of_mteb_too(
    wrapped, tmp_path, stock, monkeypatch, no_data, kind, task
):
    wrapped(kind).model.save_pretrained(str(tmp_path / "model"))
    counted = []
    counts = batches.token_counts
    monkeypatch.setattr(
        batches, "token_counts", lambda *args, **how: counted.append(args) or counts(*args, **how)
    )
    arguments = ["-m", str(tmp_path / "model"), "-t", task, "--batch-size", "2"]
    assert main(["run", *arguments, "--output-folder", str(tmp_path / "out")]) == 0
    assert counted


@pytest.mark.real_data
def test_real_texts_have_hardly_any_padding(minilm):
    """Of each public task and subset; by characters it is up to 2.4 times the tokens there are."""
    tasks = [task for task in own_tasks() if task.metadata.is_public]
    assert len(tasks) == 9
    for task in tasks:
        padded, real = 0, 0
        for subset in task.subsets("test"):
            texts = distinct_texts(task, subset)
            counts = token_counts(minilm, texts, 256)
            real += counts.sum()
            padded += sum(
                counts[rows[start : start + 32]].max() * len(rows[start : start + 32])
                for rows in calls_of(counts, 32)
                for start in range(0, len(rows), 32)
            )
        assert padded / real <= ALLOWED, task.metadata.name


def distinct_texts(task, subset):
    content, _ = task.load("test", subset)
    if isinstance(content, Pairs):
        return list(dict.fromkeys([*content.sentence1, *content.sentence2]))
    texts = chain.from_iterable((question.text, *question.candidates) for question in content)
    return list(dict.fromkeys(texts))
