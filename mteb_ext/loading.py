"""The papers' datasets as ``datasets.Dataset``, for training and for a look at the data."""

from __future__ import annotations

from datasets import Dataset, concatenate_datasets

from mteb_ext.bases import PaperRanking, PaperSTS, PaperTask
from mteb_ext.bases.sts import pairs_to_dataset
from mteb_ext.bases.task import DEFAULT_SUBSET
from mteb_ext.data.records import Question
from mteb_ext.errors import DataError


def load_dataset(
    name: str, split: str = "test", *, subset: str | None = None, raw: bool = False
) -> Dataset:
    """Load one split of a task's data: verified, and with the paper's question filter.

    Args:
        name: A task of this package, for example ``"WikiQA"``; ``"WikiQA.sample"`` for the sample.
        split: ``"train"``, ``"dev"`` or ``"test"``, as the task has them.
        subset: One subset (track, language pair); all of them where it is left out.
        raw: Whether to return every question of the file, those that the paper leaves out too.

    Returns:
        STS tasks: ``sentence1``, ``sentence2``, ``score``, and ``subset`` or ``genre`` where the
        task has them. Ranking tasks: a row a candidate, with ``question_id``, ``question``,
        ``candidate_id``, ``candidate`` and ``label``.

    Raises:
        DataError: If there is no such task, split or subset, or its files are missing or damaged.
    """
    task = paper_task(name)
    if issubclass(task, PaperSTS):
        return _load_pairs(task, split, subset)
    if subset not in {None, DEFAULT_SUBSET}:
        raise DataError(f"{name} has no subsets; leave subset out.")
    questions, _ = task.load(split)
    if not raw and issubclass(task, PaperRanking):
        keep = task.protocol.keep_in(split)
        questions = [question for question in questions if keep.keeps(question.labels)]
    return _questions_to_dataset(questions)


def paper_task(name: str) -> type[PaperTask]:
    """The task class of a name: every command and function finds a task here.

    Raises:
        DataError: If mteb knows no such task (close names are offered), or it is mteb's own.
    """
    import mteb

    try:
        task = type(mteb.get_task(name))
    except KeyError as error:
        raise DataError(
            f"there is no task {name!r}. {error.args[0].removeprefix('KeyError: ')}"
        ) from None
    if not issubclass(task, PaperTask):
        raise DataError(f"{name} is mteb's own task, not a task of mteb_ext; see 'mteb-ext tasks'.")
    return task


def _load_pairs(task: type[PaperSTS], split: str, subset: str | None) -> Dataset:
    subsets = task.subsets(split)
    if subset is not None or subsets == [DEFAULT_SUBSET]:
        return pairs_to_dataset(task.load(split, subset or DEFAULT_SUBSET)[0])
    parts = [pairs_to_dataset(task.load(split, name)[0]) for name in subsets]
    return concatenate_datasets(
        [
            part.add_column("subset", [name] * len(part))
            for name, part in zip(subsets, parts, strict=True)
        ]
    )


def _questions_to_dataset(questions: list[Question]) -> Dataset:
    rows = [
        (question.id, question.text, *candidate)
        for question in questions
        for candidate in zip(
            question.candidate_ids, question.candidates, question.labels, strict=True
        )
    ]
    names = ("question_id", "question", "candidate_id", "candidate", "label")
    columns = zip(*rows, strict=True) if rows else [()] * len(names)
    return Dataset.from_dict({n: list(c) for n, c in zip(names, columns, strict=True)})
