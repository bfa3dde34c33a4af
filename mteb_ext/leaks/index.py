"""The test texts as an index, small enough for memory; training texts stream past it.

A training text matches a test text *exactly* if both are equal by
:mod:`mteb_ext.leaks.normalising`, and *nearly* if it holds at least half of the test text's words
in sequences of 13 words that stand in both. 13-grams of words are what GPT-3's report counts (Brown
et al., "Language Models are Few-Shot Learners", 2020, appendix C), and the share of words in such
sequences is Llama 2's measure (Touvron et al., 2023, appendix A.6). A shorter text has no such
sequence, and is only compared as a whole: short generic sentences are alike by chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from mteb_ext.leaks.normalising import keys, spaced

N_WORDS = 13  # in a gram
NEAR = 0.5  # the least share of a test text's words, for a near match
_COMMONEST = 100  # test texts: a gram of more is boilerplate, and would make the index quadratic
_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # odd: no bit of a word's code is lost
_FILTER_BITS = 22

_Int = npt.NDArray[np.int64]
_Hashes = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class Matches:
    """Which training texts match which test texts, as parallel arrays.

    Attributes:
        training: Indices of the training texts, in the array that was looked up.
        test: Numbers of the test texts, see :attr:`TestIndex.numbers`.
        exact: Whether they are equal, and not only near.
    """

    training: _Int
    test: _Int
    exact: npt.NDArray[np.bool_]


class TestIndex:
    """Test texts, to be looked up.

    Attributes:
        numbers: The number of each test text; -1 for a text without any letter or digit, which
            matches nothing. Texts that count as equal have one number.
        size: How many numbers there are.
    """

    __test__ = False  # to pytest: this is no class of tests

    def __init__(self, texts: Sequence[str]) -> None:
        """Build the index.

        Args:
            texts: The test texts; equal ones may stand among them.
        """
        in_words = spaced(pa.array(texts, pa.large_string()))
        found = keys(in_words)
        distinct = pc.unique(found)
        self._keys = distinct.filter(pc.not_equal(distinct, ""))
        self.size = len(self._keys)
        self.numbers: _Int = _index_in(found, self._keys)
        firsts = np.unique(self.numbers, return_index=True)[1]
        firsts = firsts[firsts.size - self.size :]  # -1 comes before the numbers
        self._index_grams(in_words.take(pa.array(firsts)))

    def _index_grams(self, in_words: pa.LargeStringArray) -> None:
        """Index the grams of the texts, whose places are their numbers."""
        offsets, flat = _words(in_words)
        self._vocabulary = pc.unique(flat)
        self._codes: _Hashes = np.random.default_rng(0).integers(
            2**64, size=len(self._vocabulary), dtype=np.uint64
        )
        self._n_words = np.diff(offsets)
        starts, hashes = self._grams(offsets, flat)
        text = np.searchsorted(offsets, starts, side="right") - 1
        order = np.argsort(hashes, kind="stable")
        distinct, first, count = np.unique(hashes[order], return_index=True, return_counts=True)
        rare = count <= _COMMONEST
        self._hashes, self._first, self._count = distinct[rare], first[rare], count[rare]
        self._text, self._place = text[order], (starts - offsets[text])[order]
        self._filter = np.zeros(1 << _FILTER_BITS, np.bool_)
        self._filter[self._hashes >> np.uint64(64 - _FILTER_BITS)] = True

    def _grams(self, offsets: _Int, flat: pa.LargeStringArray) -> tuple[_Int, _Hashes]:
        """The grams of texts whose words are all in the vocabulary: where they start, hashes."""
        numbers = _index_in(flat, self._vocabulary)
        n_starts = max(0, numbers.size - N_WORDS + 1)
        unknown = np.concatenate([[0], np.cumsum(numbers < 0)])
        ends = np.repeat(offsets[1:], np.diff(offsets))[:n_starts]
        whole = (unknown[N_WORDS:] == unknown[:n_starts]) & (
            np.arange(N_WORDS, N_WORDS + n_starts) <= ends
        )
        starts = np.flatnonzero(whole)
        hashes = np.zeros(starts.size, np.uint64)
        codes = self._codes[numbers] if self._codes.size else hashes
        for place in range(N_WORDS):
            hashes = hashes * _FACTOR + codes[starts + place]
        return starts, hashes

    def matches(self, texts: pa.LargeStringArray) -> Matches:
        """Look training texts up.

        Args:
            texts: Training texts, none of them null.
        """
        in_words = spaced(texts)
        number = _index_in(keys(in_words), self._keys)
        equal = np.flatnonzero(number >= 0)
        training, test = self._near(in_words)
        other = number[training] != test
        training, test = training[other], test[other]
        return Matches(
            np.concatenate([equal, training]),
            np.concatenate([number[equal], test]),
            np.repeat([True, False], [equal.size, training.size]),
        )

    def _near(self, in_words: pa.LargeStringArray) -> tuple[_Int, _Int]:
        """Training and test texts that share enough grams, equal ones too."""
        offsets, flat = _words(in_words)
        starts, hashes = self._grams(offsets, flat)
        possible = self._filter[hashes >> np.uint64(64 - _FILTER_BITS)]
        starts, hashes = starts[possible], hashes[possible]
        gram = np.searchsorted(self._hashes, hashes)
        there = gram < self._hashes.size
        there[there] = self._hashes[gram[there]] == hashes[there]
        starts, gram = starts[there], gram[there]
        training = np.searchsorted(offsets, starts, side="right") - 1

        count = self._count[gram]  # test texts, and places in them, of each gram
        within = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        posting = np.repeat(self._first[gram], count) + within
        return self._covered(np.repeat(training, count), self._text[posting], self._place[posting])

    def _covered(self, training: _Int, test: _Int, place: _Int) -> tuple[_Int, _Int]:
        """The pairs of texts of which grams at these places cover enough of the test text."""
        order = np.lexsort((place, test, training))
        training, test, place = training[order], test[order], place[order]
        new_pair = np.ones(training.size, np.bool_)
        new_pair[1:] = (np.diff(training) != 0) | (np.diff(test) != 0)
        words = np.full(training.size, N_WORDS)
        words[:-1] = np.where(new_pair[1:], N_WORDS, np.minimum(N_WORDS, np.diff(place)))
        pairs = np.flatnonzero(new_pair)
        if not pairs.size:
            return training, test
        covered = np.add.reduceat(words, pairs)
        near = pairs[covered >= NEAR * self._n_words[test[pairs]]]
        return training[near], test[near]


def _index_in(values: pa.Array, value_set: pa.Array) -> _Int:
    """(n,) the place of each value in a set of values; -1 for those that are not in it."""
    found = pc.fill_null(pc.index_in(values, value_set=value_set), -1)
    places: _Int = found.to_numpy(zero_copy_only=False).astype(np.int64)
    return places


def _words(in_words: pa.LargeStringArray) -> tuple[_Int, pa.LargeStringArray]:
    """(n + 1,) where the words of each text begin among all words, and these."""
    lists = pc.ascii_split_whitespace(in_words)
    lengths = pc.list_value_length(lists).to_numpy(zero_copy_only=False)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    flat = lists.flatten()
    word = pc.not_equal(flat, "")  # there is an empty one before a space at the beginning
    before = np.concatenate([[0], np.cumsum(word.to_numpy(zero_copy_only=False))])
    return before[offsets], flat.filter(word)
