"""Token cosine: the baseline of SemEval-2017 Task 1.

A text is the binary vector of the words that occur in it, and the score is the cosine of the two
(Cer et al. 2017, section 6.4).

Pearson x 100 on the tracks of one language, recomputed and published (Table 10): Arabic 60.53 and
60.45, Spanish 71.17 and 71.17, English 72.78 and 72.78. The paper cuts words with Treebank
tokenizers of the three languages; the Arabic one is what is not the same here. The cross-lingual
rows rest on machine translations that were not published.
"""

from __future__ import annotations

import math

from mteb.models.model_meta import ModelMeta, ScoringFunction

from mteb_ext import papers
from mteb_ext.baselines.meta import LEXICAL
from mteb_ext.baselines.pair_model import LexicalCrossEncoder
from mteb_ext.baselines.tokens import words

__all__ = ["TOKEN_COSINE", "TokenCosine", "token_cosine"]


def token_cosine(first: frozenset[str], second: frozenset[str]) -> float:
    """Cosine of two binary vectors, given as the sets of their ones.

    Computed as the root of one quotient of whole numbers, so that cosines that are equal come out
    equal to the last bit, and ties stay ties.

    Args:
        first: Words of the first text.
        second: Words of the second text.

    Returns:
        |first ∩ second| / sqrt(|first| |second|), from 0 to 1; 0 if a text has no words.
    """
    size = len(first) * len(second)
    if size == 0:
        return 0.0
    return math.sqrt(len(first & second) ** 2 / size)


class TokenCosine(LexicalCrossEncoder[frozenset[str]]):
    """The words that occur in a text, compared by their cosine."""

    def prepare(self, text: str) -> frozenset[str]:
        """The set of the text's words, punctuation marks included."""
        return frozenset(words(text))

    def score(self, first: frozenset[str], second: frozenset[str]) -> float:
        """The cosine of two sets of words, see `token_cosine`."""
        return token_cosine(first, second)


TOKEN_COSINE = ModelMeta(
    loader=TokenCosine,
    name="mteb-ext/token-cosine",
    model_type=["cross-encoder"],
    languages=["ara-Arab", "eng-Latn", "jpn-Jpan", "spa-Latn", "zho-Hans", "zho-Hant"],
    similarity_fn_name=ScoringFunction.COSINE,
    reference=papers.SEMEVAL2017.url,
    citation=papers.SEMEVAL2017.bibtex,
    **LEXICAL,
)
"""The model's metadata: ``TOKEN_COSINE.load_model()`` loads it."""

TokenCosine.mteb_model_meta = TOKEN_COSINE
