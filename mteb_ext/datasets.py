"""The papers' datasets as ``datasets.Dataset``, for training and for a look at the data."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from datasets import Dataset, concatenate_datasets
from datasets.exceptions import DatasetGenerationError

from mteb_ext.bases import PaperRanking, PaperSTS
from mteb_ext.bases.sts import pairs_to_dataset
from mteb_ext.bases.task import DEFAULT_SUBSET
from mteb_ext.data.readers import read_asnq, read_text_lines
from mteb_ext.data.records import Question
from mteb_ext.data.sources import UpstreamFiles
from mteb_ext.errors import DataError
from mteb_ext.plugin.lookup import paper_task

ASNQ = "ASNQ"
HOW_TO_GET_ASNQ = (
    "ASNQ is not fetched: take it from https://github.com/amazon-science/wqa_tanda, and put "
    "train.tsv and dev.tsv there."
)
SDJC_CLINIC = "SDJCClinic"
HOW_TO_GET_SDJC_CLINIC = (
    "The clinical corpus of SDJC is not fetched: ask its authors "
    "(https://github.com/ccilab-doshisha/SDJC), and put their clinic_corpus.txt there."
)


def load_dataset(
    name: str,
    split: str = "test",
    *,
    subset: str | None = None,
    raw: bool = False,
    label_noise: float = 0.0,
    seed: int = 0,
) -> Dataset:
    """Load one split of a task's data: verified, and with the paper's question filter.

    Args:
        name: A task of this package, for example ``"WikiQA"``; ``"WikiQA.sample"`` for the sample.
            ``"ASNQ"``, the corpus that TANDA transfers from, has no task and is read from the files
            ``asnq/train.tsv`` and ``asnq/dev.tsv`` of the data folder; ``"SDJCClinic"``, the corpus
            of clinical sentences that arXiv 2503.09094 adapts to, from ``sdjc/clinic_corpus.txt``.
        split: ``"train"``, ``"dev"`` or ``"test"``, as the task has them.
        subset: One subset (track, language pair); all of them where it is left out.
        raw: Whether to return every question of the file, those that the paper leaves out too.
        label_noise: The share, 0 to 1, of the rows of a ranking task's train split whose labels are
            switched, as in TANDA's experiment on robustness. Of n rows it is the whole number
            nearest to ``label_noise * n``. Which ones depends on ``seed`` and the rows' identifiers
            alone, and those of a smaller share are among those of a larger one.
        seed: Another seed switches the labels of other rows.

    Returns:
        STS tasks: ``sentence1``, ``sentence2``, ``score``, and ``subset`` or ``genre`` where the
        task has them. Ranking tasks: a row a candidate, with ``question_id``, ``question``,
        ``candidate_id``, ``candidate`` and ``label``. ASNQ: ``question``, ``candidate``, ``label``.
        SDJCClinic: ``sentence``.

    Raises:
        DataError: If there is no such task, split or subset, its files are missing or damaged, or
            label noise is asked for where it does not belong.

    Examples:
        >>> import mteb_ext
        >>> rows = mteb_ext.load_dataset("WikiQA.sample")
        >>> rows.column_names[:2]
        ['question_id', 'question']
    """
    corpora = {ASNQ: _load_asnq, SDJC_CLINIC: _load_sdjc_clinic}
    if label_noise and (split != "train" or name in corpora or not 0 <= label_noise <= 1):
        raise DataError(
            f"{name} ({split}): label_noise is a share from 0 to 1 of the train split of a ranking "
            f"task, not {label_noise}; what is evaluated keeps its labels."
        )
    if name in corpora:
        return corpora[name](split)
    task = paper_task(name)
    if issubclass(task, PaperSTS):
        if label_noise:
            raise DataError(f"{name} has gold scores and no labels; leave label_noise out.")
        return _load_pairs(task, split, subset)
    if subset not in {None, DEFAULT_SUBSET}:
        raise DataError(f"{name} has no subsets; leave subset out.")
    questions, _ = task.load(split)
    if not raw and issubclass(task, PaperRanking):
        keep = task.protocol.keep_in(split)
        questions = [question for question in questions if keep.keeps(question.labels)]
    return _questions_to_dataset(_with_label_noise(questions, label_noise, seed))


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


def _with_label_noise(questions: list[Question], share: float, seed: int) -> list[Question]:
    """The questions with labels switched: those of the rows whose hashes come first."""
    names = [(question.id, name) for question in questions for name in question.candidate_ids]

    def draw(row: int) -> bytes:
        return hashlib.sha256(json.dumps([seed, *names[row]]).encode()).digest()

    n_switched = math.floor(share * len(names) + 0.5)
    switched = {names[row] for row in sorted(range(len(names)), key=draw)[:n_switched]}
    return [
        replace(
            question,
            labels=[
                1 - label if (question.id, name) in switched else label
                for name, label in zip(question.candidate_ids, question.labels, strict=True)
            ],
        )
        for question in questions
    ]


def _load_asnq(split: str) -> Dataset:
    if split not in {"train", "dev"}:
        raise DataError(f"ASNQ ({split}): there is no such split; there are train, dev.")
    path = UpstreamFiles.own(f"asnq/{split}.tsv", HOW_TO_GET_ASNQ)
    state = path.stat()
    try:  # twenty million rows: they go to datasets' cache one by one, anew when the file changes
        return Dataset.from_generator(
            _asnq_rows, gen_kwargs={"path": path, "state": (state.st_size, state.st_mtime_ns)}
        )
    except DatasetGenerationError as error:
        if isinstance(error.__cause__, DataError):
            raise error.__cause__ from None
        raise


def _asnq_rows(path: Path, state: tuple[int, int]) -> Iterator[dict[str, str | int]]:
    del state
    for question, sentence, label in read_asnq(path):
        yield {"question": question, "candidate": sentence, "label": label}


def _load_sdjc_clinic(split: str) -> Dataset:
    if split != "train":
        raise DataError(f"{SDJC_CLINIC} ({split}): there is no such split; there is train.")
    path = UpstreamFiles.own("sdjc/clinic_corpus.txt", HOW_TO_GET_SDJC_CLINIC)
    sentences = [line.strip() for line in read_text_lines(path)]
    return Dataset.from_dict({"sentence": [sentence for sentence in sentences if sentence]})


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
