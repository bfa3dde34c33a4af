"""When two texts count as equal: by their letters, marks and digits, whatever stands between them.

Case, white space, punctuation and the width of characters differ between copies of one sentence,
and so does tokenisation ("don 't", "don't"). `words` is the definition, for one text. `spaced` and
`keys` apply it to arrays: ASCII text is folded by a table of bytes, all other text by `words`.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

_IDEOGRAPH = re.compile(
    "[\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)


class _Spacing(dict[int, str]):
    """What becomes of each character, by its code: worked out when it is first met."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        # Marks stay: they are vowels in many scripts.
        kept = char if unicodedata.category(char)[0] in "LMN" else " "
        return self.setdefault(code, f" {kept} " if _IDEOGRAPH.match(kept) else kept)


_SPACING = _Spacing()


def words(text: str) -> list[str]:
    """The words of a text: NFKC, case folded, without punctuation, symbols and spaces.

    Chinese and Japanese are written without spaces: each of their characters is a word.
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    folded = unicodedata.normalize("NFKC", folded)  # folding may take a character apart
    return folded.translate(_SPACING).split()


def spaced(texts: pa.LargeStringArray) -> pa.LargeStringArray:
    """The words of each text, with spaces between them.

    Args:
        texts: Texts, none of them null.

    Returns:
        An array of the same length. There may be several spaces between words, and at the ends.
    """
    count = len(texts)
    offsets = np.frombuffer(texts.buffers()[1], np.int64)[texts.offset : texts.offset + count + 1]
    data = np.frombuffer(texts.buffers()[2] or b"", np.uint8)[offsets[0] : offsets[-1]]
    folded = pa.LargeStringArray.from_buffers(
        count, pa.py_buffer(offsets - offsets[0]), pa.py_buffer(_ascii_table()[data])
    )
    other = pc.invert(pc.string_is_ascii(texts))
    by_words = [" ".join(words(text)) for text in texts.filter(other).to_pylist()]
    return pc.replace_with_mask(folded, other, pa.array(by_words, pa.large_string()))


@cache
def _ascii_table() -> npt.NDArray[np.uint8]:
    """(256,) what becomes of each byte: a space where `words` drops it; not ASCII stays."""
    ascii_bytes = [(words(chr(byte)) or [" "])[0] for byte in range(128)]
    return np.array([*map(ord, ascii_bytes), *range(128, 256)], np.uint8)


def keys(spaced_texts: pa.LargeStringArray) -> pa.LargeStringArray:
    """The texts of `spaced` without their spaces: equal for texts that count as equal."""
    return pc.replace_substring(spaced_texts, " ", "")
