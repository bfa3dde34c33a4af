"""Words of a text: the Moses tokenizer's, and pairs of characters where words are not spaced.

The Moses tokenizer is what the WMT metrics tasks use. ``sacremoses`` is its Python port, and two
things about it decide published figures (see `mteb_ext.baselines.sentence_bleu`):

* Text is tokenised as it stands and lower-cased afterwards. The other way round changes tokens: a
  full stop stays with its word when the next word begins in lower case, and abbreviations are
  looked up as they are written.
* The Perl tokenizer takes Chinese characters and Korean syllables for letters, and leaves a run of
  them whole. The port's English mode takes them for symbols and puts spaces around each one.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sacremoses import MosesTokenizer

__all__ = ["moses_tokens", "words"]

_HAN = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fffd"
_KANA = "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f"
_HANGUL = "\uac00-\ud7a3"

_UNSPACED = re.compile(f"([{_HAN}{_KANA}]+)")


def moses_tokens(text: str) -> list[str]:
    """Tokens of ``tokenizer.perl -l en``, lower-cased.

    Markup characters are not escaped as the Perl script does (``&apos;`` for an apostrophe): that
    renames tokens one to one, and no score of this package depends on names.

    The English rules serve every language here: on the Spanish and Arabic tracks of SemEval-2017
    the port's Spanish and Arabic modes give the same scores.

    Args:
        text: Any text.

    Returns:
        Its tokens, punctuation marks included; none if the text is blank.
    """
    return [token.lower() for token in _moses().tokenize(text, escape=False)]


def words(text: str) -> list[str]:
    """Lower-cased Moses tokens, with runs of Chinese or Japanese script cut into bigrams.

    The script decides, run by run, so no language need be known and mixed text is cut the same way
    in every text: Latin abbreviations and figures within Japanese stay whole. A run of a single
    character is a word by itself.

    Args:
        text: Any text.

    Returns:
        Its words in order, punctuation marks included.
    """
    found: list[str] = []
    for place, part in enumerate(_UNSPACED.split(text)):
        is_unspaced = place % 2 == 1  # `split` with one group alternates: between, run, between ...
        found += _bigrams(part) if is_unspaced else moses_tokens(part)
    return found


def _bigrams(run: str) -> list[str]:
    return [run[start : start + 2] for start in range(max(1, len(run) - 1))]


@lru_cache(maxsize=1)
def _moses() -> MosesTokenizer:
    from sacremoses import MosesTokenizer  # slow to import, and often not needed

    tokenizer = MosesTokenizer(lang="en")
    letters = tokenizer.IsAlnum + _HAN + _KANA + _HANGUL
    # The port's own expression, with the letters that it lacks.
    tokenizer.PAD_NOT_ISALNUM = (re.compile(rf"([^{letters}\s\.'\`\,\-])"), r" \1 ")
    return tokenizer
