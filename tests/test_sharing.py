"""SharedEmbeddings: each text once for all tasks, but where a model may look at the task."""

from __future__ import annotations

import mteb
import numpy as np
import pytest
from conftest import ToyCrossEncoder, ToyEncoder, spread, toy_meta
from datasets import Dataset
from mteb.models import SentenceTransformerEncoderWrapper
from mteb.types import PromptType
from torch.utils.data import DataLoader

from mteb_ext import ProtocolError, SharedEmbeddings


class Sentences:
    """What mteb's wrapper needs of a SentenceTransformer; notes every text with its prompt."""

    def __init__(self):
        self.seen = []

    def encode(self, sentences, *, prompt=None, side="", **kwargs):
        self.seen += [(side, prompt, text) for text in sentences]
        return np.array([spread(f"{side}{prompt}{text}") for text in sentences])

    def encode_query(self, sentences, **kwargs):
        return self.encode(sentences, side="query", **kwargs)

    def encode_document(self, sentences, **kwargs):
        return self.encode(sentences, side="document", **kwargs)


def wrapped(prompts=None):
    """mteb's own wrapper around it."""
    model = object.__new__(SentenceTransformerEncoderWrapper)
    model.model, model.model_prompts = Sentences(), prompts
    model.mteb_model_meta = toy_meta("test/wrapped", modalities=["text"])
    for option in ("fps", "max_frames", "num_frames", "target_sampling_rate", "max_samples"):
        setattr(model, option, None)
    return model


def scores(model, *tasks, **options):
    options = {"show_progress_bar": False, **options}
    results = mteb.evaluate(model, mteb.get_tasks(tasks=tasks), cache=None, encode_kwargs=options)
    return {result.task_name: result.scores for result in results}


TASKS = ("WMT17Metrics.sample", "WMT17MetricsQE.sample", "JACSTS.sample", "WikiQA.sample")


@pytest.mark.slow
def test_tasks_share_texts_and_score_as_alone():
    plain, inner = wrapped(), wrapped()
    apart = scores(plain, *TASKS)
    together = scores(SharedEmbeddings(inner), *TASKS)
    assert together == apart
    assert len(inner.model.seen) == len(set(inner.model.seen))
    assert set(inner.model.seen) == set(plain.model.seen)
    assert len(plain.model.seen) > len(
        set(plain.model.seen)
    )  # the two WMT tasks have texts in common


def test_the_same_text_on_another_side_is_another_text():
    inner = wrapped()
    metadata = mteb.get_task("WikiQA.sample").metadata
    model = SharedEmbeddings(inner)
    loader = DataLoader(Dataset.from_dict({"text": ["x"]}))
    for side in (PromptType.query, PromptType.document, None, PromptType.query):
        model.encode(loader, task_metadata=metadata, hf_split="", hf_subset="", prompt_type=side)
    assert inner.model.seen == [("query", None, "x"), ("document", None, "x"), ("", None, "x")]


def test_another_prompt_is_another_text():
    inner = wrapped({"JACSTS.sample": "A: ", "STS": "B: "})
    model = SharedEmbeddings(inner)
    loader = DataLoader(Dataset.from_dict({"text": ["x"]}))
    for name in ("JACSTS.sample", "WMT17Metrics.sample", "WMT17MetricsQE.sample"):
        metadata = mteb.get_task(name).metadata
        model.encode(loader, task_metadata=metadata, hf_split="", hf_subset="")
    assert inner.model.seen == [("", "A: ", "x"), ("", "B: ", "x")]


@pytest.mark.slow
def test_other_options_are_other_embeddings():
    inner = wrapped()
    model = SharedEmbeddings(inner)
    scores(model, "JACSTS.sample")
    once = len(inner.model.seen)
    scores(model, "JACSTS.sample", batch_size=3)
    assert len(inner.model.seen) == once
    scores(model, "JACSTS.sample", normalize_embeddings=True)
    assert len(inner.model.seen) == 2 * once


@pytest.mark.slow
def test_a_model_that_may_look_at_the_task_is_asked_anew():
    class OfItsOwn(SentenceTransformerEncoderWrapper):
        def encode(self, inputs, **kwargs):
            return super().encode(inputs, **kwargs)

    inner = wrapped()
    inner.__class__ = OfItsOwn
    toy = ToyEncoder(spread)
    for model, seen in ((inner, inner.model.seen), (toy, toy.seen)):
        shared = SharedEmbeddings(model)
        scores(shared, "JACSTS.sample")
        once = len(seen)
        scores(shared, "JACSTS.sample")
        assert len(seen) == 2 * once


def test_a_cross_encoder_has_no_embeddings_to_share():
    with pytest.raises(ProtocolError, match="ToyCrossEncoder is no encoder"):
        SharedEmbeddings(ToyCrossEncoder(lambda a, b: 1.0))


def test_stock_tasks_of_mteb_share_too():
    from mteb.mocks.mock_tasks import MockSTSTask

    inner = wrapped()
    inner.model.similarity = lambda a, b: np.asarray(a) @ np.asarray(b).T
    inner.model.similarity_pairwise = lambda a, b: (np.asarray(a) * np.asarray(b)).sum(axis=1)
    task = MockSTSTask()
    first = mteb.evaluate(SharedEmbeddings(inner), task, cache=None, show_progress_bar=False)
    plain = mteb.evaluate(wrapped(), MockSTSTask(), cache=None, show_progress_bar=False)
    assert first[0].get_score() == plain[0].get_score()
