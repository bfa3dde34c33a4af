"""Word count and weighted word count: the two lexical baselines of the WikiQA paper.

Word count is the number of non-stop words of the question that also occur in the sentence; the
weighted one sums their idf values instead (Yang, Yih and Meek 2015). How the paper cuts words,
which words it stops and where its idf values come from is not known. Here:

* A word is a lower-cased token of the Moses tokenizer with a letter or a digit in it (Chinese and
  Japanese: a pair of characters). It counts once, however often it occurs.
* idf(w) = ln(N / n), over the N indexed sentences, of which n contain w.
* The stop words are the uncontracted ones of the Snowball project's English list, and the endings
  that the tokenizer cuts off contracted words. The list is one of function words only, and all of
  it can occur as tokens. Longer lists contain words that questions are about ("first", "name",
  "made", "part" in scikit-learn's), or halves of contractions that are words of their own ("won").

On the test part of WikiQA, on the corpus's own 237 questions, equal scores in trec_eval's order:
MAP .4934 and MRR .4944 (published .4891, .4924); weighted .5089 and .5105 (published .5099,
.5132). With other stop lists and tokenizers the figures move by about .01.
"""

from __future__ import annotations

import logging
import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from mteb.models.model_meta import ModelMeta
from tqdm.auto import tqdm

from mteb_ext import papers
from mteb_ext.baselines.meta import LEXICAL, LexicalModel
from mteb_ext.baselines.tokens import words
from mteb_ext.errors import ProtocolError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mteb.abstasks.task_metadata import TaskMetadata
    from mteb.types import (
        CorpusDatasetType,
        EncodeKwargs,
        QueryDatasetType,
        RetrievalOutputType,
        TopRankedDocumentsType,
    )
    from numpy.typing import NDArray

    _Rows: TypeAlias = NDArray[np.int64]

__all__ = [
    "STOP_WORDS",
    "WEIGHTED_WORD_COUNT",
    "WORD_COUNT",
    "WeightedWordCount",
    "WordCount",
    "content_words",
]

logger = logging.getLogger(__name__)

STOP_WORDS = frozenset(
    """
    i me my myself we our ours ourselves you your yours yourself yourselves he him his himself
    she her hers herself it its itself they them their theirs themselves
    what which who whom this that these those
    am is are was were be been being have has had having do does did doing
    would should could ought
    a an the and but if or because as until while
    of at by for with about against between into through during before after above below to from
    up down in out on off over under
    again further then once here there when where why how all any both each few more most other
    some such no nor not only own same so than too very
    'm 're 's 've 'd 'll 't
    """.split()  # noqa: SIM905 -- a list of 130 literals is no easier to read
)
"""Snowball's English stop list without contractions, and the endings of contracted words."""


def content_words(text: str) -> frozenset[str]:
    """The distinct words of a text with a letter or digit in them, stop words left out."""
    return frozenset(
        word for word in words(text) if word not in STOP_WORDS and any(map(str.isalnum, word))
    )


class WordCount(LexicalModel):
    """Number of non-stop words of the query that occur in the document."""

    _index: _Index | None = None

    def weight(self, documents: int, containing: int) -> float:
        """What a word of the query adds to the score of a document that contains it.

        Args:
            documents: Number of indexed documents.
            containing: Number of those that contain the word, at least 1.
        """
        return 1.0

    def index(
        self,
        corpus: CorpusDatasetType,
        *,
        task_metadata: TaskMetadata | None = None,
        hf_split: str = "",
        hf_subset: str = "",
        encode_kwargs: EncodeKwargs | None = None,
        num_proc: int | None = None,
        **kwargs: object,
    ) -> None:
        """Note which document contains which word.

        Args:
            corpus: Documents with ``id``, ``text`` and, if they have one, ``title``.
            task_metadata: The task; without effect, like all the arguments that follow it but one.
            hf_split: The task's split.
            hf_subset: The task's subset.
            encode_kwargs: ``show_progress_bar`` (on unless false); other models' options.
            num_proc: Number of processes.
            **kwargs: Reserved by mteb.
        """
        texts = _titled(corpus) if "title" in corpus.column_names else list(corpus["text"])
        self._index = _Index.of(list(corpus["id"]), texts, hide=_hides_progress(encode_kwargs))

    def search(
        self,
        queries: QueryDatasetType,
        *,
        task_metadata: TaskMetadata | None = None,
        hf_split: str = "",
        hf_subset: str = "",
        top_k: int,
        encode_kwargs: EncodeKwargs | None = None,
        top_ranked: TopRankedDocumentsType | None = None,
        num_proc: int | None = None,
        **kwargs: object,
    ) -> RetrievalOutputType:
        """Score documents by the words that they share with each query.

        Args:
            queries: Queries with ``id`` and ``text``.
            task_metadata: The task; without effect.
            hf_split: The task's split; without effect.
            hf_subset: The task's subset; without effect.
            top_k: How many documents a query gets when ``top_ranked`` is absent. Of documents that
                tie for the last places, those that trec_eval ranks first stay: the greatest ids.
            encode_kwargs: ``show_progress_bar`` (on unless false); other models' options.
            top_ranked: The candidates of each query. All of them are scored, whatever ``top_k``.
            num_proc: Number of processes; without effect.
            **kwargs: Reserved by mteb.

        Returns:
            The score of each document, by document id, by query id.

        Raises:
            ProtocolError: If nothing is indexed, or a candidate is not in the corpus.
        """
        index = self._index
        if index is None:
            raise ProtocolError(f"{type(self).__name__}: call `index` before `search`")
        results: RetrievalOutputType = {}
        asked = zip(queries["id"], queries["text"], strict=True)
        for query, text in tqdm(
            asked,
            desc=f"{type(self).__name__}: queries",
            unit="query",
            total=len(queries),
            disable=_hides_progress(encode_kwargs),
            delay=1,
        ):
            scores = self._scores(index, text)
            if top_ranked is None:
                rows = index.best(scores, top_k)
            else:
                rows = index.candidates(query, top_ranked)
            results[query] = {index.ids[row]: float(scores[row]) for row in rows}
        return results

    def _scores(self, index: _Index, text: str) -> NDArray[np.float64]:
        """Scores of all documents.

        Weights are added smallest first, so that documents whose weights are the same numbers get
        the same sum to the last bit.
        """
        found = [
            (self.weight(len(index.ids), len(rows)), rows)
            for word in content_words(text)
            if (rows := index.rows_with.get(word)) is not None
        ]
        scores = np.zeros(len(index.ids))
        for weight, rows in sorted(found, key=lambda pair: pair[0]):
            scores[rows] += weight
        return scores


class WeightedWordCount(WordCount):
    """Sum of the idf of the non-stop words of the query that occur in the document."""

    def weight(self, documents: int, containing: int) -> float:
        """The word's idf, ln(documents / containing)."""
        return math.log(documents / containing)


@dataclass(frozen=True)
class _Index:
    """Which document contains which word; a document is known by its row."""

    ids: list[str]
    rows_with: dict[str, _Rows]

    @classmethod
    def of(cls, ids: list[str], texts: Iterable[str], *, hide: bool) -> _Index:
        """Index documents; a text that occurs several times is tokenised once."""
        rows_of: defaultdict[str, list[int]] = defaultdict(list)
        for row, text in enumerate(texts):
            rows_of[text].append(row)
        rows_with: defaultdict[str, list[int]] = defaultdict(list)
        for text, rows in tqdm(
            rows_of.items(), desc="Indexing", unit="text", disable=hide, delay=1
        ):
            for word in content_words(text):
                rows_with[word].extend(rows)
        return cls(ids, {word: np.array(rows) for word, rows in rows_with.items()})

    @cached_property
    def row_of(self) -> dict[str, int]:
        """The row of each document id."""
        return {document: row for row, document in enumerate(self.ids)}

    @cached_property
    def by_id(self) -> _Rows:
        """The rows, greatest id first: trec_eval's order of equal scores."""
        return np.array(sorted(range(len(self.ids)), key=self.ids.__getitem__, reverse=True))

    def candidates(self, query: str, top_ranked: Mapping[str, list[str]]) -> _Rows:
        """The rows of a query's candidates."""
        if query not in top_ranked:
            logger.warning("query %s has no candidates", query)
            return np.empty(0, dtype=np.int64)
        try:
            rows = [self.row_of[document] for document in top_ranked[query]]
        except KeyError as error:
            raise ProtocolError(
                f"candidate {error} of query {query} is not among the {len(self.ids)} documents "
                "of the corpus"
            ) from error
        return np.array(rows, dtype=np.int64)

    def best(self, scores: NDArray[np.float64], count: int) -> _Rows:
        """The ``count`` rows that trec_eval ranks first."""
        if count >= len(scores):
            return self.by_id
        last = np.partition(scores, len(scores) - count)[len(scores) - count]
        ordered = scores[self.by_id]
        above = self.by_id[ordered > last]
        return np.concatenate([above, self.by_id[ordered == last][: count - len(above)]])


def _titled(corpus: CorpusDatasetType) -> list[str]:
    """Texts with the title before them, as mteb joins the two for encoders."""
    pairs = zip(corpus["title"], corpus["text"], strict=True)
    return [f"{title} {text}".strip() if title else text for title, text in pairs]


def _hides_progress(encode_kwargs: EncodeKwargs | None) -> bool:
    return not (encode_kwargs or {}).get("show_progress_bar", True)


WORD_COUNT = ModelMeta(
    loader=WordCount,
    name="mteb-ext/word-count",
    model_type=["sparse"],
    languages=["eng-Latn"],
    similarity_fn_name=None,
    reference=papers.WIKIQA.url,
    citation=papers.WIKIQA.bibtex,
    **LEXICAL,
)
"""The model's metadata: ``WORD_COUNT.load_model()`` loads it."""

WEIGHTED_WORD_COUNT = ModelMeta(
    loader=WeightedWordCount,
    name="mteb-ext/weighted-word-count",
    model_type=["sparse"],
    languages=["eng-Latn"],
    similarity_fn_name=None,
    reference=papers.WIKIQA.url,
    citation=papers.WIKIQA.bibtex,
    **LEXICAL,
)
"""The model's metadata: ``WEIGHTED_WORD_COUNT.load_model()`` loads it."""

WordCount.mteb_model_meta = WORD_COUNT
WeightedWordCount.mteb_model_meta = WEIGHTED_WORD_COUNT
