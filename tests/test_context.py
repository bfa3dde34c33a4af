from __future__ import annotations

import functools

import pytest

from mteb_ext.context import Call, answer_key, task_arguments_read

ALL = {"task_metadata", "hf_split", "hf_subset", "prompt_type"}


def ignores_all(inputs, *, task_metadata, hf_split, hf_subset, prompt_type=None, **kwargs):
    return [text for batch in inputs for text in batch["text"]]


def reads_one(inputs, *, task_metadata, hf_split, hf_subset, prompt_type=None):
    return task_metadata.name


def reads_in_closure(inputs, *, task_metadata, hf_split, hf_subset, prompt_type=None):
    return [hf_subset for _ in inputs]


def reads_in_lambda(inputs, *, task_metadata, hf_split, hf_subset, prompt_type=None):
    return lambda: hf_split


def passes_kwargs_on(inputs, *, prompt_type, **kwargs):
    return ignores_all(inputs, **kwargs)


def drops_kwargs(inputs, **kwargs):
    return inputs


def drops_args_and_kwargs(*args, **kwargs):
    return args


def looks_at_locals(inputs, *, task_metadata, hf_split, hf_subset, prompt_type=None):
    return locals()


@pytest.mark.parametrize(
    ("function", "read"),
    [
        (ignores_all, set()),
        (reads_one, {"task_metadata"}),
        (reads_in_closure, {"hf_subset"}),
        (reads_in_lambda, {"hf_split"}),
        (passes_kwargs_on, ALL - {"prompt_type"}),
        (drops_kwargs, set()),
        (drops_args_and_kwargs, set()),
        (looks_at_locals, ALL),
        (functools.partial(ignores_all), ALL),
        (len, ALL),
    ],
)
def test_arguments_that_a_function_reads(function, read):
    assert task_arguments_read(function) == read


def call(task, prompt_type=None, split="test", subset="default"):
    import mteb

    return Call(mteb.get_task(task).metadata, split, subset, prompt_type)


def test_a_model_that_ignores_the_task_answers_all_tasks_alike():
    class Encoder:
        encode = ignores_all

    model = Encoder()
    first = answer_key(model, model.encode, call("WikiQA"))
    assert answer_key(model, model.encode, call("JACSTS", subset="x")) == first


def test_a_model_that_reads_the_task_shares_nothing_between_tasks():
    class Encoder:
        encode = passes_kwargs_on

    model = Encoder()
    first = answer_key(model, model.encode, call("WikiQA"))
    assert answer_key(model, model.encode, call("WikiQA")) == first
    assert answer_key(model, model.encode, call("TRECQA")) != first
    assert answer_key(model, model.encode, call("WikiQA", split="dev")) != first


@pytest.mark.models
def test_sentence_transformers_share_where_the_prompt_is_the_same(minilm):
    from mteb import SentenceTransformerEncoderWrapper
    from mteb.types import PromptType

    query, document = PromptType.query, PromptType.document
    model = SentenceTransformerEncoderWrapper(minilm)

    def key(task, prompt_type):
        return answer_key(model, model.encode, call(task, prompt_type))

    assert key("WikiQA", query) == key("TRECQA", query)
    assert key("JACSTS", None) == key("STSBenchmarkSemEval", None)
    assert len({key("WikiQA", side) for side in (query, document, None)}) == 3
    model.model_prompts = {"WikiQA": "a: ", "query": "b: "}
    assert key("TRECQA", query) == key("QABot", query) != key("WikiQA", query)
