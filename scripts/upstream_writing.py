"""The files of a task in mteb's own repository, and its data in the layout of the hub."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from datasets import Dataset, DatasetDict
from huggingface_hub import DatasetCard
from mteb import get_task
from mteb.abstasks.task_metadata import TaskMetadata
from upstream_check import stock_task

from mteb_ext.bases import PaperSTS, PaperTask
from mteb_ext.bases.metadata import PaperMetadata
from mteb_ext.bases.ranking import retrieval_split

ACCOUNT, REVISION = "YOUR_ACCOUNT", "COMMIT_OF_THE_UPLOAD"  # known when the data is on the hub
COLUMNS = ("sentence1", "sentence2", "score")
FIELDS = (
    *("name", "description", "reference", "dataset", "type", "category", "modalities"),
    *("eval_splits", "eval_langs", "main_score", "date", "domains", "task_subtypes", "license"),
    *("annotations_creators", "dialect", "sample_creation", "adapted_from", "prompt"),
)
TASK_FILE = '''\
from {module} import {base}
from mteb.abstasks.task_metadata import TaskMetadata


class {name}({base}):
    metadata = TaskMetadata(
{fields}
        bibtex_citation=r"""
{bibtex}""",
    )
{attributes}'''


class _Metadata(PaperMetadata):
    """Metadata whose statistics have the place that they have in mteb's repository."""

    @property
    def descriptive_stat_path(self) -> Path:
        return self._home / "mteb" / "descriptive_stats" / self.type / f"{self.name}.json"


def write(task: type[PaperTask], folder: Path, terms: str | None = None) -> None:
    """Write data, card, task file and statistics into an empty folder.

    Args:
        task: The task.
        folder: Where to.
        terms: What the card says beside the name of the licence.

    Raises:
        DataError: If the data is missing or is not the paper's.
    """
    data = evaluated_rows(task)
    metadata = upstream_metadata(task)
    _write_task_file(task, metadata, data, folder)
    stock: Any = stock_task(folder)
    stock.metadata = _Metadata.at(folder, metadata)
    stock.dataset, stock.data_loaded = data, True
    if issubclass(task, PaperSTS) and not metadata.is_multilingual:
        stock.dataset = data["default"]
    stock.calculate_descriptive_statistics(overwrite_results=True)
    _write_dataset(task, stock.metadata, configurations(task, data), terms, folder / "dataset")


def evaluated_rows(task: type[PaperTask]) -> dict[str, Any]:
    """By subset and split what mteb holds of the rows that the headline is about."""
    if issubclass(task, PaperSTS):
        loaded = task()
        loaded.load_data()
        data: Any = loaded.dataset
        by_subset = data if task.metadata.is_multilingual else {"default": data}
        return {
            subset: DatasetDict(
                {split: rows.select_columns([*COLUMNS]) for split, rows in splits.items()}
            )
            for subset, splits in by_subset.items()
        }
    return {"default": {split: _kept(task, split) for split in task.metadata.eval_splits}}


def _kept(task: type[PaperTask], split: str) -> dict[str, Any]:
    questions, _ = task.load(split)
    return retrieval_split([q for q in questions if task.protocol.keep.keeps(q.labels)])


def configurations(task: type[PaperTask], data: Mapping[str, Any]) -> dict[str, DatasetDict]:
    """The tables of the hub's layout, by configuration."""
    if issubclass(task, PaperSTS):
        return dict(data)
    tables: dict[str, dict[str, Dataset]] = {}
    for split, rows in data["default"].items():
        qrels = [
            {"query-id": query, "corpus-id": document, "score": label}
            for query, labels in rows["relevant_docs"].items()
            for document, label in labels.items()
        ]
        lists = [{"query-id": q, "corpus-ids": ids} for q, ids in rows["top_ranked"].items()]
        by_name = {
            "corpus": rows["corpus"],
            "queries": rows["queries"],
            "qrels": Dataset.from_list(qrels),
            "top_ranked": Dataset.from_list(lists),
        }
        for name, table in by_name.items():
            tables.setdefault(name, {})[split] = table
    return {name: DatasetDict(splits) for name, splits in tables.items()}


def upstream_metadata(task: type[PaperTask]) -> TaskMetadata:
    """The task's metadata for mteb, with the main score under mteb's name."""
    metadata, headline = task.metadata, task.protocol.headline
    theirs = [name for name in metadata.adapted_from or () if not _is_ours(name)]
    return metadata.model_copy(
        update={
            "dataset": {"path": f"{ACCOUNT}/{metadata.name}", "revision": REVISION},
            "main_score": stock_key(task, headline),
            "adapted_from": theirs or None,
        }
    )


def stock_key(task: type[PaperTask], headline: str) -> str:
    """Under which key mteb has a headline."""
    return f"cosine_{headline}" if issubclass(task, PaperSTS) else f"{headline}_at_1000"


def _is_ours(name: str) -> bool:
    return isinstance(get_task(name), PaperTask)


def _write_task_file(
    task: type[PaperTask], metadata: TaskMetadata, data: Mapping[str, Any], folder: Path
) -> None:
    is_sts = issubclass(task, PaperSTS)
    values = {name: getattr(metadata, name) for name in FIELDS}
    text = TASK_FILE.format(
        module="mteb.abstasks.sts" if is_sts else "mteb.abstasks.retrieval",
        base="AbsTaskSTS" if is_sts else "AbsTaskRetrieval",
        name=task.__name__,
        fields="\n".join(f"        {k}={_literal(v)}," for k, v in values.items() if v is not None),
        bibtex=metadata.bibtex_citation,
        attributes=_score_range(data) if is_sts else "",
    )
    languages = {code.partition("-")[0] for code in metadata.bcp47_codes}
    place = languages.pop() if len(languages) == 1 else "multilingual"
    file = folder / "mteb" / "tasks" / metadata.type.lower() / place / f"{task.__name__.lower()}.py"
    file.parent.mkdir(parents=True)
    file.write_text(text, encoding="utf-8", newline="\n")


def _score_range(data: Mapping[str, Any]) -> str:
    """The whole numbers around the gold scores, between which mteb normalises them."""
    gold = [
        score for splits in data.values() for rows in splits.values() for score in rows["score"]
    ]
    return f"\n    min_score = {math.floor(min(gold))}\n    max_score = {math.ceil(max(gold))}\n"


def _literal(value: object) -> str:
    """Python source of a value of metadata, in mteb's layout."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, dict):
        rows = "".join(f"            {_literal(k)}: {_literal(v)},\n" for k, v in value.items())
        return f"{{\n{rows}        }}"
    if isinstance(value, list | tuple):
        left, right = "[]" if isinstance(value, list) else "()"
        return left + ", ".join(map(_literal, value)) + right
    return repr(value)


def _write_dataset(
    task: type[PaperTask],
    metadata: TaskMetadata,
    tables: Mapping[str, DatasetDict],
    terms: str | None,
    folder: Path,
) -> None:
    configs, infos = [], []
    for name, splits in tables.items():
        place = "data" if name == "default" else name
        files = {split: f"{place}/{split}-00000-of-00001.parquet" for split in splits}
        for split, rows in splits.items():
            (folder / place).mkdir(parents=True, exist_ok=True)
            rows.to_parquet(folder / files[split])
        configs.append(
            {
                "config_name": name,
                "data_files": [{"split": s, "path": path} for s, path in files.items()],
            }
        )
        sizes = [
            {"name": split, "num_bytes": rows.data.nbytes, "num_examples": len(rows)}
            for split, rows in splits.items()
        ]
        infos.append({"config_name": name, "splits": sizes})
    card = _card(task, metadata, terms)
    card.data["configs"], card.data["dataset_info"] = configs, infos
    card.save(folder / "README.md")


def _card(task: type[PaperTask], metadata: TaskMetadata, terms: str | None) -> DatasetCard:
    """The card as mteb makes it, with the source of the data in the place of its hub repository."""
    card = metadata.model_copy(update={"dataset": {}, "adapted_from": None}).generate_dataset_card()
    source = task.metadata.dataset
    card.text = card.text.replace(
        "Source datasets:",
        f"Source: [{source['path']}]({task.metadata.reference}), commit `{source['revision']}`.\n\n"
        f"Licence: {metadata.license}.{' ' + terms if terms else ''}\n\n"
        f"Protocol: {task.protocol.source}.",
    )
    return card
