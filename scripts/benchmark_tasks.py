"""The benchmark's tasks: one model on the same rows by this package and by its peers."""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

import mteb
import numpy as np
from benchmark_measuring import OURS, Case, Row, Runner, measure, rows_of
from mteb.abstasks import AbsTask, AbsTaskRetrieval
from mteb.abstasks.sts import AbsTaskSTS
from mteb.cache import ResultCache
from mteb.models import ModelMeta
from mteb.models.abs_encoder import AbsEncoder
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.evaluation import (
    EmbeddingSimilarityEvaluator,
    RerankingEvaluator,
)

from mteb_ext import SharedEmbeddings
from mteb_ext.bases import PaperRanking, PaperSTS, PaperTask
from mteb_ext.data.records import Pairs, Question
from mteb_ext.protocol import (
    CorrelationProtocol,
    PairFacts,
    QuestionFacts,
    QuestionFilter,
    RankingProtocol,
)

STOCK = "stock mteb"
FLOOR = "floor: encode"
OUTSIDE = "mteb_ext outside the model"
SUITE = "all public tasks"
ENCODE = {"batch_size": 32, "show_progress_bar": False}


class TimedModel(SentenceTransformer):
    """A model that adds up the time of its forward passes."""

    seconds_inside = 0.0

    def encode(self, *args: Any, **kwargs: Any) -> Any:
        """As the parent's."""
        start = time.perf_counter()
        try:
            return super().encode(*args, **kwargs)
        finally:
            self.seconds_inside += time.perf_counter() - start


def task_cases(
    model: SentenceTransformer, names: Sequence[str], shares: Sequence[float]
) -> Iterator[Case]:
    """Each task, on a share of its data and on all of it, beside every peer."""
    for name in names:
        for share in shares:
            task = first_part(name, share)
            task.load_data()
            sts = isinstance(task, PaperSTS)
            yield Case(
                name,
                len(task.dataset["test"]) if sts else len(retrieval_data(task)["corpus"]),
                {
                    OURS: partial(ours, model, name, share),
                    STOCK: partial(stock, model, task),
                    **(similarity_peer(model, task) if sts else reranking_peer(model, task)),
                    FLOOR: partial(floor, model, new_texts([task])),
                },
                tolerance=1e-4,  # of the metrics, where a text's batch has changed its last digits
            )


def first_part(name: str, share: float) -> PaperTask:
    """A task that will keep the first pairs, or the first questions, of what it reads."""
    task = mteb.get_task(name)

    def keep(num_proc: int | None = None) -> None:
        if isinstance(task, PaperSTS):
            task.dataset["test"] = head(task.dataset["test"], share)
            return
        data = retrieval_data(task)
        data["queries"] = head(data["queries"], share)
        data["relevant_docs"] = {q: data["relevant_docs"][q] for q in data["queries"]["id"]}
        kept = set().union(*data["relevant_docs"].values())
        data["corpus"] = data["corpus"].select(
            [i for i, candidate in enumerate(data["corpus"]["id"]) if candidate in kept]
        )

    if share < 1:
        task.dataset_transform = keep
    return task


def head(dataset: Any, share: float) -> Any:
    """The first rows of a dataset."""
    return dataset.select(range(math.ceil(share * len(dataset))))


def retrieval_data(task: AbsTaskRetrieval) -> dict[str, Any]:
    """The test split of a ranking task."""
    return task.dataset["default"]["test"]


def ours(model: SentenceTransformer, name: str, share: float) -> Mapping[str, Any]:
    """The task as a user runs it: reading and verifying its files is part of the time."""
    return scores_of(model, first_part(name, share))


def stock(model: SentenceTransformer, task: PaperTask) -> Mapping[str, Any]:
    """The same rows, loaded before, in mteb's own kind of task."""
    kind, main_score = (
        (AbsTaskSTS, "spearman")
        if isinstance(task, PaperSTS)
        else (AbsTaskRetrieval, "map_at_1000")
    )
    metadata = task.metadata.model_copy(update={"main_score": main_score})
    twin = type(f"Stock{type(task).__name__}", (kind,), {"metadata": metadata})()
    twin.dataset, twin.data_loaded = task.dataset, True
    scores = scores_of(model, twin)
    return {"spearman" if kind is AbsTaskSTS else "map_trec_eval": scores[main_score]}


class HashEncoder(AbsEncoder):
    """A model that costs next to nothing: 64 numbers from the hash of each text."""

    mteb_model_meta = ModelMeta.create_empty(overwrites={"name": "made-up/hash", "revision": "1"})

    def encode(self, inputs: Any, **kwargs: Any) -> Any:
        """Numbers from -1 to 1, the same for equal texts of one process."""
        hashes = np.array([hash(text) for batch in inputs for text in batch["text"]])
        steps = np.arange(1, 65, dtype=np.int64) * 2_654_435_761
        parts = np.array_split(hashes, math.ceil(len(hashes) / 65_536))
        return np.concatenate(
            [((part[:, np.newaxis] * steps) >> 40).astype(np.float32) / 2**23 for part in parts]
        )


def large_cases(pairs: Sequence[int], questions: Sequence[int]) -> Iterator[Case]:
    """Made-up STS and ranking tasks of many rows, beside mteb's own kind of task."""
    for n in pairs:
        yield large_case("STS, a hash encoder", n, made_up_pairs(n))
    for n in questions:
        yield large_case("ranking x 50, a hash encoder", n, made_up_questions(n))


def large_case(name: str, size: int, task: PaperTask) -> Case:
    """A loaded task beside its stock twin."""
    model = HashEncoder()
    task.load_data()
    runners = {OURS: partial(scores_of, model, task), STOCK: partial(stock, model, task)}
    return Case(name, size, runners, tolerance=1e-4)


def made_up_pairs(n: int) -> PaperTask:
    """A loaded STS task of n pairs, all of other texts."""

    class Many(PaperSTS):
        metadata = mteb.get_task("JACSTS").metadata.model_copy(update={"name": "ManyPairs"})
        protocol = CorrelationProtocol("spearman", "made up", {"test": {"default": PairFacts(n)}})

        @classmethod
        def read(cls, source: Any, split: str, subset: str) -> Pairs:
            first, second = ([f"{side} text number {i}" for i in range(n)] for side in "ab")
            return Pairs(first, second, [float(i % 51) for i in range(n)])

    return Many()


def made_up_questions(n: int) -> PaperTask:
    """A loaded ranking task of n questions with 50 candidates, of which one is relevant."""

    class Many(PaperRanking):
        metadata = mteb.get_task("WikiQA").metadata.model_copy(update={"name": "ManyQuestions"})
        protocol = RankingProtocol(
            "map", "made up", {"test": QuestionFacts(n, 50 * n, n)}, QuestionFilter.ANSWERED
        )

        @classmethod
        def read(cls, source: Any, split: str, subset: str) -> list[Question]:
            return [
                Question(
                    f"{i:06}",
                    f"question number {i}",
                    [f"{i:06}/{j:02}" for j in range(50)],
                    [f"answer {j} to number {i}" for j in range(50)],
                    [int(i % 50 == j) for j in range(50)],
                )
                for i in range(n)
            ]

    return Many()


def scores_of(model: SentenceTransformer, task: AbsTask) -> Mapping[str, Any]:
    """The scores of a task that has one split and no subsets."""
    return evaluate(model, [task], cache=None)[0].scores["test"][0]


def evaluate(
    model: SentenceTransformer, tasks: Iterable[AbsTask], cache: ResultCache | None
) -> list[Any]:
    """Run the standard runner."""
    options = {"encode_kwargs": ENCODE, "show_progress_bar": False, "co2_tracker": False}
    return mteb.evaluate(model, tasks, cache=cache, **options).task_results


def similarity_peer(model: SentenceTransformer, task: PaperSTS) -> dict[str, Runner]:
    """The evaluator of sentence-transformers, on the same pairs."""
    pairs = task.dataset["test"]
    columns = (list(pairs[column]) for column in ("sentence1", "sentence2", "score"))
    evaluator = EmbeddingSimilarityEvaluator(*columns, **ENCODE)
    return {
        "sentence-transformers": lambda: {"spearman": evaluator(model)["spearman_cosine"]},
    }


def reranking_peer(model: SentenceTransformer, task: PaperTask) -> dict[str, Runner]:
    """The evaluator of sentence-transformers; it leaves out questions without a wrong candidate."""
    data = retrieval_data(task)
    text_of = dict(zip(data["corpus"]["id"], data["corpus"]["text"], strict=True))
    samples = [
        {
            "query": text,
            "positive": [text_of[c] for c, label in data["relevant_docs"][query].items() if label],
            "negative": [
                text_of[c] for c, label in data["relevant_docs"][query].items() if not label
            ],
        }
        for query, text in zip(data["queries"]["id"], data["queries"]["text"], strict=True)
    ]
    evaluator = RerankingEvaluator(samples, **ENCODE)
    return {"sentence-transformers": lambda: {"map_both": evaluator(model)["map"]}}


def floor(model: SentenceTransformer, groups: Sequence[list[str]]) -> Mapping[str, Any]:
    """Nothing but the model, on each text once."""
    for texts in groups:
        model.encode(texts, **ENCODE)
    return {}


def new_texts(tasks: Iterable[PaperTask]) -> list[list[str]]:
    """The texts that loaded tasks give to a model, each once, where it occurs first.

    They are grouped by task and subset, because languages together make batches of uneven length.
    """
    seen: set[str] = set()
    groups = []
    for task in tasks:
        for columns in columns_of(task):
            groups.append([text for text in dict.fromkeys(chain(*columns)) if text not in seen])
            seen.update(groups[-1])
    return groups


def columns_of(task: PaperTask) -> Iterator[list[Iterable[str]]]:
    """The columns of text of each subset of a loaded task."""
    if isinstance(task, PaperSTS):
        for subset in task.dataset.values() if task.metadata.is_multilingual else [task.dataset]:
            yield [subset["test"][column] for column in ("sentence1", "sentence2")]
    else:
        yield [retrieval_data(task)[side]["text"] for side in ("queries", "corpus")]


def suite_rows(model: TimedModel, names: Sequence[str], rounds: int) -> list[Row]:
    """All tasks in one run of mteb, sharing texts, and its time outside the model."""
    tasks = [mteb.get_task(name) for name in names]
    for task in tasks:
        task.load_data()
    texts = new_texts(tasks)

    def suite() -> Mapping[str, Any]:
        before = model.seconds_inside
        with tempfile.TemporaryDirectory() as folder:
            tasks = [mteb.get_task(name) for name in names]
            evaluate(SharedEmbeddings(model), tasks, ResultCache(folder))
        return {"inside": model.seconds_inside - before}

    case = Case(SUITE, sum(map(len, texts)), {OURS: suite, FLOOR: partial(floor, model, texts)})
    runs = measure(case, rounds)
    runs[OUTSIDE] = [
        replace(run, seconds=run.seconds - run.result["inside"], cpu=math.nan, peak_mib=math.nan)
        for run in runs[OURS]
    ]
    return rows_of(case, runs)
