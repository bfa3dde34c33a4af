"""The test items of tasks and their texts: what is looked up in training data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from mteb.abstasks.retrieval import AbsTaskRetrieval
from mteb.abstasks.sts import AbsTaskSTS

from mteb_ext.analysis.gold import load_data
from mteb_ext.bases import PaperRanking, PaperSTS, PaperTask
from mteb_ext.data.records import Pairs, Question
from mteb_ext.errors import DataError
from mteb_ext.plugin.lookup import find_task

if TYPE_CHECKING:
    from mteb.abstasks import AbsTask


@dataclass(frozen=True)
class Item:
    """A sentence pair, or a question with its candidates.

    Attributes:
        id: The question's identifier, or the pair's row, from 0 on.
        texts: Its texts, by side.
        wholes: Which two texts together are the whole item: the pair, or the question with each of
            its answers.
        counts: Whether the headline is over it.
    """

    id: str
    texts: Mapping[str, tuple[str, ...]]
    wholes: tuple[tuple[str, str], ...]
    counts: bool = True


@dataclass(frozen=True)
class TestSet:
    """The items of one subset.

    Attributes:
        task: The task's name.
        split: The split.
        subset: The subset.
        dataset_revision: Which data it is.
        kind: What an item is.
        items: The items.
        quotable: Whether its texts may be shown.
    """

    __test__ = False  # to pytest: this is no class of tests

    task: str
    split: str
    subset: str
    dataset_revision: str
    kind: Literal["pair", "question"]
    items: tuple[Item, ...]
    quotable: bool


def sets_of(names: Iterable[str]) -> list[TestSet]:
    """The items of tasks' evaluated splits and subsets.

    Of a task of this package all questions of the file are items, those too that the headline
    leaves out.

    Args:
        names: Tasks, of this package, of a plugin or of mteb, of the types STS, retrieval and
            reranking.

    Raises:
        DataError: If there is no such task, it is of another type, or its data cannot be loaded.
    """
    return [found for name in dict.fromkeys(names) for found in _of_task(find_task(name))]


def _of_task(task: AbsTask) -> Iterator[TestSet]:
    if isinstance(task, (PaperSTS, PaperRanking)):
        for split in task.metadata.eval_splits:
            for subset in task.subsets(split):
                yield paper_set(type(task), split, subset)
    elif isinstance(task, (AbsTaskSTS, AbsTaskRetrieval)):
        load_data(task)
        yield from _of_mtebs(task)
    else:
        raise DataError(
            f"{task.metadata.name}: its type is {task.metadata.type}, and not STS, Retrieval or "
            "Reranking. Leave it out."
        )


def paper_set(task: type[PaperTask], split: str, subset: str) -> TestSet:
    """The items of a task of this package.

    Raises:
        DataError: If its data is missing or is not the paper's.
    """
    content, revision = task.load(split, subset)
    where = (task.metadata.name, split, subset, revision)
    if isinstance(content, Pairs):
        items = _pairs(content.sentence1, content.sentence2)
        return TestSet(*where, "pair", items, task.metadata.is_public)
    assert issubclass(task, PaperRanking)
    keep = task.protocol.keep_in(split)
    questions = tuple(_question(question, keep.keeps(question.labels)) for question in content)
    return TestSet(*where, "question", questions, task.metadata.is_public)


def _pairs(first: Iterable[str], second: Iterable[str]) -> tuple[Item, ...]:
    return tuple(
        Item(str(row), {"sentence1": (one,), "sentence2": (two,)}, ((one, two),))
        for row, (one, two) in enumerate(zip(first, second, strict=True))
    )


def _question(question: Question, counts: bool) -> Item:
    labelled = zip(question.candidates, question.labels, strict=True)
    answers = [candidate for candidate, label in labelled if label]
    return Item(
        question.id,
        {"question": (question.text,), "candidate": tuple(question.candidates)},
        tuple((question.text, answer) for answer in answers),
        counts,
    )


def _of_mtebs(task: AbsTask) -> Iterator[TestSet]:
    """The items of mteb's own tasks, whose data is loaded."""
    dataset: Any = task.dataset
    name, revision = task.metadata.name, str(task.metadata.revision)
    public = bool(task.metadata.is_public)
    for subset in task.hf_subsets:
        splits = dataset.get(subset, dataset)  # flatter where a task has no subsets
        for split in task.eval_splits:
            data, where = splits[split], (name, split, subset, revision)
            if isinstance(task, AbsTaskSTS):
                pairs = _pairs(data["sentence1"], data["sentence2"])
                yield TestSet(*where, "pair", pairs, public)
            else:
                yield TestSet(*where, "question", _queries(data), public)


def _queries(data: Mapping[str, Any]) -> tuple[Item, ...]:
    """The queries, each with its list of candidates, or where there are none, its answers."""
    texts = {row["id"]: _document(row) for row in data["corpus"]}
    ranked = data["top_ranked"] or {}
    items = []
    for row in data["queries"]:
        qrels = data["relevant_docs"].get(row["id"], {})
        answers = [texts[name] for name, grade in qrels.items() if grade > 0 and name in texts]
        names = ranked.get(row["id"], qrels)
        candidates = tuple(texts[name] for name in names if name in texts)
        wholes = tuple((str(row["text"]), answer) for answer in answers)
        sides = {"question": (str(row["text"]),), "candidate": candidates}
        items.append(Item(row["id"], sides, wholes, bool(qrels)))
    return tuple(items)


def _document(row: Mapping[str, Any]) -> str:
    return f"{row.get('title') or ''} {row['text']}".strip()
