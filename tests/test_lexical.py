"""The papers' lexical baselines, on made-up sentences with values worked out by hand."""

from __future__ import annotations

import itertools
import json
import math
import time

import numpy as np
import pytest
from datasets import Dataset
from mteb.models import CrossEncoderProtocol, SearchProtocol
from torch.utils.data import DataLoader

from mteb_ext.baselines import MODEL_METAS
from mteb_ext.baselines.sentence_bleu import SENTENCE_BLEU, ngrams, sentence_bleu
from mteb_ext.baselines.token_cosine import TOKEN_COSINE, TokenCosine, token_cosine
from mteb_ext.baselines.tokens import moses_tokens, words
from mteb_ext.baselines.word_count import (
    STOP_WORDS,
    WEIGHTED_WORD_COUNT,
    WORD_COUNT,
    content_words,
)
from mteb_ext.errors import ProtocolError

CALL = {"task_metadata": None, "hf_split": "test", "hf_subset": "default"}
QUIET = {"encode_kwargs": {"show_progress_bar": False}, "num_proc": None, **CALL}


def loader(texts):
    return DataLoader(Dataset.from_dict({"text": texts}), batch_size=2)


def predict(meta, first, second):
    model = meta.load_model()
    return model.predict(loader(first), loader(second), show_progress_bar=False, **CALL)


class TestTokens:
    def test_contractions_and_abbreviations(self):
        assert moses_tokens("Mr. Ott's hens can't swim.") == [
            *("mr.", "ott", "'s", "hens", "can", "'t", "swim", "."),
        ]

    def test_lower_cased_after_tokenising(self):
        # Before a word in lower case a full stop would stay with its own word.
        assert moses_tokens("Up. Go!") == ["up", ".", "go", "!"]
        assert moses_tokens("up. go!") == ["up.", "go", "!"]

    @pytest.mark.parametrize("run", ["黒猫", "고양이", "ネコ"])
    def test_characters_of_a_run_stay_together(self, run):
        assert moses_tokens(f"{run} smiled.") == [run, "smiled", "."]

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("黒猫が鳴く", ["黒猫", "猫が", "が鳴", "鳴く"]),
            ("東", ["東"]),
            ("MRI検査は3回。", ["mri", "検査", "査は", "3", "回", "。"]),
            ("ヨーグルト・牛乳", ["ヨー", "ーグ", "グル", "ルト", "・", "牛乳"]),
            ("고양이 두 마리", ["고양이", "두", "마리"]),
            ("Un gato negro.", ["un", "gato", "negro", "."]),
        ],
    )
    def test_words(self, text, expected):
        assert words(text) == expected

    @pytest.mark.parametrize("text", ["", "  ", "\n", "\u3000"])
    def test_blank(self, text):
        assert words(text) == moses_tokens(text) == []


class TestTokenCosine:
    def test_by_hand(self):
        # {the, cat, sat, .} and {a, cat, sat, on, the, mat, .}: all four in common.
        scores = predict(TOKEN_COSINE, ["The cat sat."], ["A cat sat on the mat."])
        assert scores == pytest.approx([4 / math.sqrt(4 * 7)], abs=1e-15)

    def test_counts_a_word_once(self):
        assert predict(TOKEN_COSINE, ["no no no"], ["no"]).tolist() == [1.0]

    def test_japanese(self):
        # 黒猫 猫が が鳴 鳴く / 白猫 猫が が鳴 鳴く
        assert predict(TOKEN_COSINE, ["黒猫が鳴く"], ["白猫が鳴く"]).tolist() == [0.75]

    def test_no_words(self):
        scores = predict(TOKEN_COSINE, ["", "", "hen"], ["", "hen", "owl"])
        assert scores.tolist() == [0.0, 0.0, 0.0]

    def test_equal_cosines_tie_exactly(self):
        one_of_two = token_cosine(frozenset("a"), frozenset("ab"))
        three_of_six = token_cosine(frozenset("abc"), frozenset("abcdef"))
        assert one_of_two == three_of_six
        assert 1 / math.sqrt(2) != 3 / math.sqrt(18)  # the obvious formula breaks the tie

    def test_symmetric(self):
        left, right = ["a hen", "two hens"], ["hens", "a big hen"]
        forth, back = predict(TOKEN_COSINE, left, right), predict(TOKEN_COSINE, right, left)
        assert forth.tolist() == back.tolist()


class TestPredict:
    def test_prepares_each_text_once(self):
        class Counting(TokenCosine):
            seen: list[str] = []  # noqa: RUF012

            def prepare(self, text):
                self.seen.append(text)
                return super().prepare(text)

        scores = Counting().predict(
            loader(["a", "b", "a"]), loader(["b", "b", "c"]), show_progress_bar=False
        )
        assert scores.tolist() == [0.0, 1.0, 0.0]
        assert sorted(Counting.seen) == ["a", "b", "c"]

    def test_no_pairs(self):
        scores = predict(TOKEN_COSINE, [], [])
        assert scores.shape == (0,)
        assert scores.dtype == np.float64

    def test_unequal_lengths(self):
        with pytest.raises(ProtocolError, match="2 first texts, but 1 second"):
            predict(TOKEN_COSINE, ["a", "b"], ["a"])

    def test_not_text(self):
        images = DataLoader(Dataset.from_dict({"image": [1, 2]}), batch_size=2)
        with pytest.raises(ProtocolError, match="the batch has image"):
            TokenCosine().predict(images, images)

    def test_progress_bar(self, capsys, monkeypatch):
        """Long work has one; what is done within a second has none."""
        TokenCosine().predict(loader(["a"]), loader(["a"]))
        assert capsys.readouterr().err == ""
        started = time.time()
        ticks = itertools.count()
        monkeypatch.setattr("tqdm.std.time", lambda: started + 2 * next(ticks))
        TokenCosine().predict(loader(["a", "b"]), loader(["a", "b"]))
        assert "TokenCosine" in capsys.readouterr().err
        TokenCosine().predict(loader(["a", "b"]), loader(["a", "b"]), show_progress_bar=False)
        assert capsys.readouterr().err == ""


class TestSentenceBleu:
    @pytest.mark.parametrize(
        ("reference", "translation", "precisions", "brevity"),
        [
            # 4 of 5 words, 2 of 4 bigrams, 0 of 3 trigrams, 0 of 2; one added to each.
            ("a b c d e", "a b x d e", (5 / 6, 3 / 5, 1 / 4, 1 / 3), 0),
            # A word matches as often as the reference has it.
            ("the cat", "the the the", (2 / 4, 1 / 3, 1 / 2, 1 / 1), 0),
            # All n-grams match, but 3 of 7 words are missing.
            ("a b c d e f g", "a b c d", (1, 1, 1, 1), 1 - 7 / 4),
            # Longer than the reference: no penalty.
            ("a b", "a b c", (3 / 4, 2 / 3, 1 / 2, 1 / 1), 0),
            ("A hen.", "a Hen.", (1, 1, 1, 1), 0),
            # One foreign word is one token.
            ("Felix purred.", "黒猫 purred.", (3 / 4, 2 / 3, 1 / 2, 1 / 1), 0),
            ("", "a", (1 / 2, 1, 1, 1), 0),
        ],
    )
    def test_by_hand(self, reference, translation, precisions, brevity):
        expected = math.prod(precisions) ** 0.25 * math.exp(brevity)
        scores = predict(SENTENCE_BLEU, [reference], [translation])
        assert scores == pytest.approx([expected], rel=1e-14)

    def test_empty_translation(self):
        assert predict(SENTENCE_BLEU, ["a hen", ""], ["", ""]).tolist() == [0.0, 0.0]

    def test_first_text_is_the_reference(self):
        short, long = ngrams(["a"]), ngrams(["a", "b"])
        assert sentence_bleu(long, short) == math.exp(-1)
        assert sentence_bleu(short, long) == pytest.approx((2 / 3 * 1 / 2) ** 0.25)


CORPUS = {
    "d1": "Cats chase mice.",
    "d2": "Dogs chase cats.",
    "d3": "Birds sing. They sing!",
    "d4": "Dogs sleep.",
}
QUERIES = {"q1": "What do cats chase?", "q2": "Do dogs, or dogs' friends, sing at night?"}


def dataset(texts):
    return Dataset.from_dict({"id": list(texts), "text": list(texts.values())})


def search(meta, *, corpus=CORPUS, queries=QUERIES, top_k=1000, top_ranked=None):
    model = meta.load_model()
    model.index(dataset(corpus), **QUIET)
    return model.search(dataset(queries), top_k=top_k, top_ranked=top_ranked, **QUIET)


class TestWordCount:
    def test_content_words(self):
        assert content_words("Who's the KING of Spain, and isn't he ill?") == {
            *("king", "spain", "isn", "ill"),
        }
        assert content_words("What is it?") == content_words("") == frozenset()

    def test_every_stop_word_can_occur(self):
        tokens = moses_tokens(
            "I'm sure you're right: he's sad, we've lost, she'd go, they'll don't"
        )
        for word in STOP_WORDS:
            assert word in tokens if word.startswith("'") else moses_tokens(word) == [word]

    def test_counts(self):
        assert search(WORD_COUNT) == {
            "q1": {"d1": 2.0, "d2": 2.0, "d3": 0.0, "d4": 0.0},
            "q2": {"d1": 0.0, "d2": 1.0, "d3": 1.0, "d4": 1.0},
        }

    def test_weights(self):
        # In 4 documents: cats 2, chase 2, dogs 2, sing 1, friends and night none.
        found = search(WEIGHTED_WORD_COUNT)
        log2, log4 = math.log(4 / 2), math.log(4 / 1)
        assert found["q1"] == pytest.approx({"d1": 2 * log2, "d2": 2 * log2, "d3": 0, "d4": 0})
        assert found["q2"] == pytest.approx({"d1": 0, "d2": log2, "d3": log4, "d4": log2})

    def test_equal_weights_tie_exactly(self):
        # Of 6 documents, 4, 3, 2 contain a1, a2, a3, and 4, 2, 3 contain b1, b2, b3. Added in the
        # order of the words, the two sums of the same three numbers differ.
        corpus = {
            **{"x": "a1 a2 a3", "y": "b1 b2 b3"},
            **{"p": "a1 a2 a3 b1 b2 b3", "q": "a1 a2 b1 b3", "r": "a1 b1", "s": "none"},
        }
        four, three, two = math.log(6 / 4), math.log(6 / 3), math.log(6 / 2)
        assert four + three + two != four + two + three
        found = search(WEIGHTED_WORD_COUNT, corpus=corpus, queries={"q": "a1 a2 a3 b1 b2 b3"})
        assert found["q"]["x"] == found["q"]["y"]

    def test_repeated_documents_count_for_idf(self):
        found = search(
            WEIGHTED_WORD_COUNT,
            corpus={"d1": "A hen.", "d2": "A hen.", "d3": "An owl."},
            queries={"q": "hen"},
        )
        log = math.log(3 / 2)
        assert found["q"] == {"d1": log, "d2": log, "d3": 0.0}

    def test_candidates_are_all_scored(self):
        top_ranked = {"q1": ["d4", "d1"], "q2": ["d3", "d2", "d1"]}
        found = search(WORD_COUNT, top_k=1, top_ranked=top_ranked)
        assert found == {"q1": {"d4": 0.0, "d1": 2.0}, "q2": {"d3": 1.0, "d2": 1.0, "d1": 0.0}}
        assert {query: list(scores) for query, scores in found.items()} == top_ranked

    @pytest.mark.parametrize(
        ("top_k", "q1", "q2"),
        [
            (1, {"d2"}, {"d4"}),
            (2, {"d1", "d2"}, {"d3", "d4"}),
            (3, {"d1", "d2", "d4"}, {"d2", "d3", "d4"}),
            (4, set(CORPUS), set(CORPUS)),
        ],
    )
    def test_top_k_keeps_what_trec_eval_ranks_first(self, top_k, q1, q2):
        found = search(WORD_COUNT, top_k=top_k)
        assert (set(found["q1"]), set(found["q2"])) == (q1, q2)

    def test_unknown_words(self):
        found = search(WEIGHTED_WORD_COUNT, queries={"q": "unicorns", "r": "", "s": "what?"})
        assert all(set(scores.values()) == {0.0} for scores in found.values())

    def test_titles_count(self):
        model = WORD_COUNT.load_model()
        corpus = dataset({"d1": "They purr.", "d2": "They bark."})
        model.index(corpus.add_column("title", ["Cats", ""]), **QUIET)
        found = model.search(dataset({"q": "cats bark"}), top_k=9, **QUIET)
        assert found == {"q": {"d1": 1.0, "d2": 1.0}}

    def test_japanese(self):
        found = search(
            WORD_COUNT,
            corpus={"d1": "黒猫が鳴く。", "d2": "犬が走る。"},
            queries={"q": "黒猫は鳴く"},
        )
        assert found == {"q": {"d1": 2.0, "d2": 0.0}}  # 黒猫 and 鳴く

    def test_index_replaces_the_one_before(self):
        model = WORD_COUNT.load_model()
        model.index(dataset(CORPUS), **QUIET)
        model.index(dataset({"e1": "hens"}), **QUIET)
        assert model.search(dataset({"q": "hens"}), top_k=9, **QUIET) == {"q": {"e1": 1.0}}

    def test_search_before_index(self):
        with pytest.raises(ProtocolError, match="call `index` before"):
            WORD_COUNT.load_model().search(dataset(QUERIES), top_k=1, **QUIET)

    def test_candidate_outside_the_corpus(self):
        with pytest.raises(ProtocolError, match=r"candidate 'd9' of query q1 .* 4 documents"):
            search(WORD_COUNT, top_ranked={"q1": ["d1", "d9"], "q2": ["d1"]})

    def test_query_without_candidates(self, caplog):
        found = search(WORD_COUNT, top_ranked={"q1": ["d1"]})
        assert found == {"q1": {"d1": 2.0}, "q2": {}}
        assert "query q2 has no candidates" in caplog.text


class TestMetadata:
    def test_names(self):
        assert [meta.name for meta in MODEL_METAS] == [
            "mteb-ext/token-cosine",
            "mteb-ext/word-count",
            "mteb-ext/weighted-word-count",
            "mteb-ext/sentence-bleu",
        ]

    @pytest.mark.parametrize("meta", MODEL_METAS, ids=lambda meta: meta.name)
    def test_loads(self, meta):
        model = meta.load_model(device="cpu")
        assert model.mteb_model_meta.name == meta.name
        assert model.mteb_model_meta.revision == "1"
        protocol = CrossEncoderProtocol if meta.is_cross_encoder else SearchProtocol
        assert isinstance(model, protocol)
        assert isinstance(type(model)(), protocol)

    @pytest.mark.parametrize("meta", MODEL_METAS, ids=lambda meta: meta.name)
    def test_states_that_nothing_is_learned(self, meta):
        assert meta.n_parameters == 0
        assert meta.training_datasets == set()
        assert json.dumps(meta.to_dict(), allow_nan=False)
