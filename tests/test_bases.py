"""The protocol as the bases apply it: made-up rows, results worked out by hand or by peers."""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import math

import mteb
import numpy as np
import pytest
import pytrec_eval
from conftest import ToyCrossEncoder, ToyEncoder, ToySearch, spread, toy_meta, write_qabot
from mteb.types import PromptType
from scipy import stats

from mteb_ext import DataError, ProtocolError, UndefinedMetricError
from mteb_ext.bases import PaperRanking, PaperSTS
from mteb_ext.data.records import Pairs, Question
from mteb_ext.formats.predictions import dataset_revision, read_predictions
from mteb_ext.protocol import (
    CorrelationProtocol,
    QuestionFacts,
    QuestionFilter,
    QuestionSet,
    RankingProtocol,
)

BOTH = QuestionSet("both", QuestionFilter.BOTH)
RAW = QuestionSet("raw", QuestionFilter.WITH_CANDIDATES)
QUIET = {"show_progress_bar": False}


def evaluate(task, model, **kwargs):
    result = mteb.evaluate(model, task, cache=None, encode_kwargs=dict(QUIET), **kwargs)
    return result.task_results[0]


def scores_of(task, model, **kwargs):
    return evaluate(task, model, **kwargs).scores["test"][0]


def make_sts(pairs_by_subset, headline="pearson", task_name="MadeUpSTS"):
    subsets = list(pairs_by_subset)

    class MadeUp(PaperSTS):
        metadata = mteb.get_task("STS17SemEval").metadata.model_copy(
            update={
                "name": task_name,
                "main_score": headline,
                "eval_langs": (
                    ["eng-Latn"]
                    if subsets == ["default"]
                    else {subset: ["eng-Latn"] for subset in subsets}
                ),
            }
        )
        protocol = CorrelationProtocol(
            headline=headline, source="made up", facts={"test": dict.fromkeys(subsets)}
        )

        @classmethod
        def read(cls, source, split, subset):
            return pairs_by_subset[subset]

        @classmethod
        def _verified_revision(cls, content, facts, split):
            return cls.metadata.revision

    return MadeUp()


def make_ranking(questions, keep=QuestionFilter.ANSWERED, also=None, cutoffs=(1, 2)):
    class MadeUp(PaperRanking):
        metadata = mteb.get_task("WikiQA").metadata.model_copy(update={"name": "MadeUpRanking"})
        protocol = RankingProtocol(
            headline="map",
            source="made up",
            keep=keep,
            also=also,
            cutoffs=cutoffs,
            facts={
                "test": QuestionFacts(
                    len(questions), sum(map(len, questions)), sum(sum(q.labels) for q in questions)
                )
            },
        )

        @classmethod
        def read(cls, source, split, subset):
            return questions

    return MadeUp()


def question(name, labels):
    ids = [f"{name}/{i}" for i in range(len(labels))]
    return Question(name, f"query {name}", ids, [f"text {i}" for i in ids], list(labels))


# --- definitions ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("task", "change", "message"),
    [
        ("JACSTS", {"main_score": "pearson"}, "headline is 'spearman'"),
        ("JACSTS", {"main_score": "cosine_spearman"}, "headline is 'spearman'"),
        ("STS17SemEval", {"main_score": "spearman"}, "headline is 'pearson'"),
        ("WikiQA", {"main_score": "ndcg_at_10"}, "headline is 'map'"),
        ("WikiQA", {"type": "STS"}, "expected Retrieval or Reranking"),
        ("WikiQA", {"eval_splits": ["validation"]}, "no facts of the splits"),
        ("STS17SemEval", {"eval_langs": {"1-ar-ar": ["ara-Arab"]}}, "headline averages"),
    ],
)
def test_a_task_that_contradicts_its_protocol_cannot_be_defined(task, change, message):
    task = type(mteb.get_task(task))
    metadata = task.metadata.model_copy(update=change)
    with pytest.raises(ProtocolError, match=message):
        type("Wrong", (task,), {"metadata": metadata})


def test_a_task_without_a_protocol_cannot_be_defined():
    with pytest.raises(ProtocolError, match="states no protocol"):
        type("Wrong", (PaperSTS,), {"metadata": mteb.get_task("JACSTS").metadata})


# --- STS -----------------------------------------------------------------------------------------

ANGLES = {"a": 0.0, "b": 0.3, "c": 0.9, "d": 1.2, "e": 2.0}


def on_circle(text):
    return [math.cos(ANGLES[text]), math.sin(ANGLES[text])]


PAIRS = Pairs(list("aaaa"), list("bcde"), [5.0, 3.0, 3.0, 1.0])


def test_sts_equals_scipy_on_the_cosines():
    cosines = [math.cos(ANGLES[text]) for text in "bcde"]
    scores = scores_of(make_sts({"default": PAIRS}), ToyEncoder(on_circle))
    assert scores["pearson"] == pytest.approx(stats.pearsonr(cosines, PAIRS.score)[0], abs=1e-12)
    assert scores["spearman"] == pytest.approx(stats.spearmanr(cosines, PAIRS.score)[0], abs=1e-12)
    assert scores["cosine_pearson"] == scores["pearson"] == scores["main_score"]
    assert scores["cosine_spearman"] == scores["spearman"]
    assert scores["ci95_low"] <= scores["pearson"] <= scores["ci95_high"]


def test_the_headline_decides_the_main_score():
    scores = scores_of(make_sts({"default": PAIRS}, headline="spearman"), ToyEncoder(on_circle))
    assert scores["main_score"] == scores["spearman"] != scores["pearson"]


def test_a_cross_encoder_on_sts():
    model = ToyCrossEncoder(lambda a, b: -ANGLES[b])
    scores = scores_of(make_sts({"default": PAIRS}), model)
    expected = stats.pearsonr([-ANGLES[text] for text in "bcde"], PAIRS.score)[0]
    assert scores["pearson"] == pytest.approx(expected, abs=1e-12)
    assert "cosine_pearson" not in scores
    assert model.seen == [("a", "b"), ("a", "c"), ("a", "d"), ("a", "e")]


def test_the_mean_over_subsets_is_not_the_pooled_correlation():
    other = Pairs(list("eeee"), list("abcd"), [4.0, 1.0, 2.0, 0.0])
    result = evaluate(make_sts({"x-en": PAIRS, "y-en": other}), ToyEncoder(on_circle))
    by_subset = {scores["hf_subset"]: scores for scores in result.scores["test"]}
    first = [math.cos(ANGLES[t]) for t in "bcde"]
    second = [math.cos(ANGLES["e"] - ANGLES[t]) for t in "abcd"]
    parts = [stats.pearsonr(first, PAIRS.score)[0], stats.pearsonr(second, other.score)[0]]
    pooled = stats.pearsonr(first + second, PAIRS.score + other.score)[0]
    assert result.get_score() == pytest.approx(np.mean(parts), abs=1e-12)
    assert abs(result.get_score() - pooled) > 0.01
    last = by_subset["y-en"]
    assert last["headline_ci95_low"] <= result.get_score() <= last["headline_ci95_high"]
    assert "headline_ci95_low" not in by_subset["x-en"]


def test_the_headline_interval_never_mixes_runs():
    task = make_sts(
        {"x-en": PAIRS, "y-en": Pairs(list("eeee"), list("abcd"), [4.0, 1.0, 2.0, 0.0])}
    )
    first = evaluate(task, ToyEncoder(on_circle)).scores["test"]
    evaluate(task, ToyEncoder(spread))
    again = evaluate(task, ToyEncoder(on_circle)).scores["test"]
    assert again == first
    assert "headline_ci95_low" not in again[0]


def test_a_run_that_broke_off_leaves_nothing_to_the_next():
    task = make_sts(
        {"x-en": PAIRS, "y-en": Pairs(list("eeee"), list("abcd"), [4.0, 1.0, 2.0, 0.0])}
    )
    task.load_data()
    options = {"encode_kwargs": dict(QUIET), "subsets_to_run": ["x-en"]}
    task.evaluate(ToyEncoder(spread), "test", **options)
    options["subsets_to_run"] = ["y-en"]
    scores = task.evaluate(ToyEncoder(on_circle), "test", **options)
    assert "headline_ci95_low" not in scores["y-en"]


def test_correlations_by_genre():
    pairs = Pairs(
        list("aaaaaa"),
        list("bcdbcd"),
        [5.0, 3.0, 1.0, 2.0, 2.5, 4.0],
        ["news"] * 3 + ["forums"] * 3,
    )
    scores = scores_of(make_sts({"default": pairs}), ToyEncoder(on_circle))
    cosines = [math.cos(ANGLES[text]) for text in "bcd"]
    for genre, gold in (("news", [5.0, 3.0, 1.0]), ("forums", [2.0, 2.5, 4.0])):
        expected = stats.pearsonr(cosines, gold)[0]
        assert scores[f"pearson_{genre}"] == pytest.approx(expected, abs=1e-12)


def test_reruns_agree_to_the_last_digit():
    task = make_sts({"default": PAIRS})
    assert scores_of(task, ToyEncoder(on_circle)) == scores_of(task, ToyEncoder(on_circle))


@pytest.mark.parametrize("vector", [[1.0, 1.0], [0.0, 0.0]])
@pytest.mark.filterwarnings("ignore:.*all zeros")
def test_a_constant_scorer_has_no_correlation(vector):
    with pytest.raises(UndefinedMetricError, match=r"MadeUpSTS \(test\): .*constant"):
        evaluate(make_sts({"default": PAIRS}), ToyEncoder(lambda text: vector))


def test_errors_name_task_split_subset_and_row():
    model = ToyEncoder(lambda text: [float("nan") if text == "d" else 1.0, 2.0])
    with pytest.raises(ProtocolError, match=r"MadeUpSTS \(test, x-en\): .*sentence2 of row 2"):
        evaluate(make_sts({"x-en": PAIRS, "y-en": PAIRS}), model)


def test_a_search_model_cannot_do_sts():
    with pytest.raises(ProtocolError, match="MadeUpSTS: test/toy-search ranks documents"):
        evaluate(make_sts({"default": PAIRS}), ToySearch(lambda a, b: 1.0))


def test_two_tasks_share_nothing_that_is_not_shared_on_purpose():
    model = ToyEncoder(on_circle)
    tasks = [
        make_sts({"default": PAIRS}),
        make_sts({"default": Pairs(list("ab"), list("ce"), [1.0, 2.0])}, task_name="Other"),
    ]
    mteb.evaluate(model, tasks, cache=None, encode_kwargs=dict(QUIET))
    assert sorted(model.seen) == sorted("abcde" + "abce")


def test_named_parts_have_coefficients_of_their_own():
    pairs = Pairs(
        list("aaaaaa"),
        list("bcdebd"),
        [5.0, 3.0, 1.0, 2.0, 2.5, 4.0],
        parts={"4": [True, True, True, False, True, False]},
    )
    scores = scores_of(make_sts({"default": pairs}), ToyEncoder(on_circle))
    cosines, gold = [math.cos(ANGLES[text]) for text in "bcdb"], [5.0, 3.0, 1.0, 2.5]
    assert scores["pearson_4"] == pytest.approx(stats.pearsonr(cosines, gold)[0], abs=1e-12)
    assert scores["spearman_4"] == pytest.approx(stats.spearmanr(cosines, gold)[0], abs=1e-12)
    assert scores["pearson_4"] != scores["pearson"]


def test_equal_cosines_tie_in_the_interval_and_by_genre_too():
    # All vectors of one direction: cosines that differ by rounding noise alone are one number.
    lengths = {text: 0.1 * (i + 1) for i, text in enumerate("abcdefgh")}
    pairs = Pairs(
        [*"abcdefgh", "a"],
        [*"hgfedcba", "other"],
        [1.0, 2.0, 3.0, 4.0, 5.0, 1.0, 2.0, 3.0, 0.0],
        ["news"] * 8 + ["forums"],
    )
    model = ToyEncoder(lambda text: np.array([3.0, 1.0]) * lengths.get(text, 1) + (text == "other"))
    scores = scores_of(make_sts({"default": pairs}, headline="spearman"), model)
    assert "spearman_news" not in scores  # constant: no coefficient
    assert scores["spearman"] == pytest.approx(
        stats.spearmanr([1.0] * 8 + [0.0], pairs.score)[0], abs=1e-12
    )


def test_a_declared_similarity_is_named_in_the_log_once_and_in_the_result(caplog):
    other = Pairs(list("eeee"), list("abcd"), [4.0, 1.0, 2.0, 0.0])
    model = ToyEncoder(on_circle)
    model.mteb_model_meta = toy_meta(similarity_fn_name="dot")
    with caplog.at_level(logging.INFO, "mteb_ext"):
        result = evaluate(make_sts({"x-en": PAIRS, "y-en": other}), model)
    said = [r.getMessage() for r in caplog.records if r.name.startswith("mteb_ext")]
    assert said == [
        "MadeUpSTS: the model declares the similarity dot; the protocol's cosine is used instead."
    ]
    assert [s["declared_similarity"] for s in result.scores["test"]] == ["dot", "dot"]


def test_data_that_may_not_be_passed_on_is_not_pushed_to_a_hub():
    for name in ("WikiQA", "QABot", "JACSTS"):
        with pytest.raises(ProtocolError, match=f"{name} may not be passed on"):
            mteb.get_task(name).push_dataset_to_hub("someone/copy")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["JACSTS.sample", "WikiQA.sample", "QABot.sample"])
def test_mtebs_embedding_cache_gives_the_same_scores(name, tmp_path):
    from mteb.models.cache_wrappers import CachedEmbeddingWrapper

    plain = evaluate(mteb.get_task(name), ToyEncoder(spread))
    for _ in range(2):  # filled, then read
        cached = CachedEmbeddingWrapper(ToyEncoder(spread), tmp_path)
        assert evaluate(mteb.get_task(name), cached).get_score() == plain.get_score()


# --- ranking -------------------------------------------------------------------------------------

QUESTIONS = [
    question("q1", [0, 1, 1, 0]),
    question("q2", [1, 0, 0]),
    question("all-negative", [0, 0]),
    question("all-positive", [1, 1]),
]
SCORES = {
    "text q1/0": 0.9,
    "text q1/1": 0.8,
    "text q1/2": 0.1,
    "text q1/3": 0.5,
    "text q2/0": 0.2,
    "text q2/1": 0.7,
    "text q2/2": 0.6,
}


def by_table(query, candidate):
    return SCORES.get(candidate, 0.5)


def test_ranking_by_hand():
    # q1: - + - + by score 0.9 0.8 0.5 0.1: AP = (1/2 + 2/4)/2 = 1/2, RR = 1/2, P@1 = 0, P@2 = 1/2.
    # q2: - - +: AP = RR = 1/3, P@1 = P@2 = 0. all-positive: 1, 1, 1, 1.
    scores = scores_of(make_ranking(QUESTIONS), ToyCrossEncoder(by_table))
    assert scores["map"] == pytest.approx((1 / 2 + 1 / 3 + 1) / 3)
    assert scores["mrr"] == pytest.approx((1 / 2 + 1 / 3 + 1) / 3)
    assert scores["precision_at_1"] == pytest.approx(1 / 3)
    assert scores["precision_at_2"] == pytest.approx((1 / 2 + 0 + 1) / 3)
    assert scores["main_score"] == scores["map"]
    assert scores["num_queries"] == 3
    assert scores["num_queries_with_ties"] == 0
    assert scores["ci95_low"] <= scores["map"] <= scores["ci95_high"]


@pytest.mark.parametrize(
    ("keep", "also", "n", "expected", "n_second", "expected_second"),
    [
        # WikiQA's rule, with the corpus's own beside it
        (QuestionFilter.ANSWERED, BOTH, 3, 11 / 18, 2, 5 / 12),
        # TREC-QA's rule, with all questions beside it: one without an answer counts as 0
        (
            QuestionFilter.BOTH,
            QuestionSet("raw", QuestionFilter.WITH_CANDIDATES),
            2,
            5 / 12,
            4,
            11 / 24,
        ),
    ],
)
def test_the_two_question_filters(keep, also, n, expected, n_second, expected_second):
    model = ToyCrossEncoder(by_table)
    scores = scores_of(make_ranking(QUESTIONS, keep, also), model)
    assert (scores["num_queries"], scores["map"]) == (n, pytest.approx(expected))
    name = also.name
    assert scores[f"num_queries_{name}"] == n_second
    assert scores[f"map_{name}"] == pytest.approx(expected_second)
    # No two scores of a question tie, so that every order gives the same.
    assert scores[f"map_{name}_trec_eval"] == scores[f"map_{name}"]
    assert scores[f"mrr_{name}"] == scores[f"mrr_{name}_trec_eval"] == scores[f"map_{name}"]
    assert len(model.seen) == len(set(model.seen))


def test_ties_are_averaged_and_the_other_orders_stand_beside():
    # + and two - in one tie: the answer is at rank 1, 2 or 3. The names sort like the places, so
    # that trec_eval puts the last one first, too.
    scores = scores_of(make_ranking([question("q", [1, 0, 0])]), ToyCrossEncoder(lambda a, b: 1.0))
    assert scores["map"] == scores["mrr"] == pytest.approx((1 + 1 / 2 + 1 / 3) / 3)
    assert scores["precision_at_1"] == pytest.approx(1 / 3)
    for order in ("trec_eval", "later_first"):
        assert scores[f"map_{order}"] == scores[f"mrr_{order}"] == pytest.approx(1 / 3)
    assert (scores["map_best"], scores["map_worst"]) == (1.0, pytest.approx(1 / 3))
    assert scores["num_queries_with_ties"] == 1


def test_mtebs_own_keys_equal_mteb_where_nothing_ties():
    from mteb._evaluators.retrieval_metrics import calculate_retrieval_scores, make_score_dict

    rng = np.random.default_rng(0)
    questions = [question(f"q{i}", [1, *rng.integers(0, 2, rng.integers(1, 30))]) for i in range(9)]
    table = {t: float(rng.random()) for q in questions for t in q.candidates}
    scores = scores_of(make_ranking(questions), ToyCrossEncoder(lambda a, b: table[b]))
    run = {
        q.id: {i: table[t] for i, t in zip(q.candidate_ids, q.candidates, strict=True)}
        for q in questions
    }
    qrels = {
        q.id: {i: int(n) for i, n in zip(q.candidate_ids, q.labels, strict=True)} for q in questions
    }
    ks = list(PaperRanking.k_values)
    _, ndcg, map_, recall, precision, naucs, mrr, naucs_mrr, hit = calculate_retrieval_scores(
        run, qrels, ks, False
    )
    expected = make_score_dict(
        ndcg=ndcg,
        _map=map_,
        recall=recall,
        precision=precision,
        mrr=mrr,
        naucs=naucs,
        naucs_mrr=naucs_mrr,
        hit_rate=hit,
        task_scores={},
        previous_results_model_meta=None,
    )
    compared = [key for key in expected if "_at_" in key and not key.startswith("nauc")]
    assert len(compared) == 6 * len(ks)
    for key in compared:
        assert scores[key] == pytest.approx(expected[key], abs=2e-5), key
    measures = pytrec_eval.RelevanceEvaluator(qrels, {"map", "recip_rank"}).evaluate(run)
    assert scores["map"] == pytest.approx(np.mean([m["map"] for m in measures.values()]), abs=1e-9)


def test_an_encoder_ranks_by_cosine_and_each_text_once():
    vectors = {"query q": [1.0, 0.0], "text q/0": [10.0, 10.0], "text q/1": [0.1, 0.0]}
    model = ToyEncoder(vectors.get)
    scores = scores_of(make_ranking([question("q", [0, 1])]), model)
    assert scores["map"] == 1.0  # the dot product would rank the other one first
    assert sorted(model.seen) == sorted(vectors)


def test_a_candidate_id_may_stand_for_another_text_in_another_question():
    questions = [
        Question("q1", "query q1", ["0", "1"], ["right 1", "wrong 1"], [1, 0]),
        Question("q2", "query q2", ["0", "1"], ["wrong 2", "right 2"], [0, 1]),
    ]
    judge = ToyCrossEncoder(lambda query, text: float(text == f"right {query[-1]}"))
    assert scores_of(make_ranking(questions), judge)["map"] == 1.0
    search = ToySearch(judge.score)
    assert scores_of(make_ranking(questions), search)["map"] == 1.0


def test_a_mean_over_no_question_is_an_error():
    with pytest.raises(UndefinedMetricError, match=r"MadeUpRanking \(test\): none of the 1 quest"):
        evaluate(make_ranking([question("q", [1, 1])], also=BOTH), ToyCrossEncoder(by_table))


def test_a_model_that_sorts_its_candidate_lists_does_not_reach_the_next_one():
    class Sorting(ToySearch):
        def search(self, queries, *, top_ranked, encode_kwargs, **kwargs):
            found = super().search(queries, top_ranked=top_ranked, **kwargs)
            for ids in top_ranked.values():
                ids.sort(reverse=True)
            encode_kwargs.clear()
            return found

    task = make_ranking(QUESTIONS)
    task.load_data()
    options = {"show_progress_bar": False, "batch_size": 2}
    alike = ToyCrossEncoder(lambda a, b: 1.0)
    before = task.evaluate(alike, "test", encode_kwargs=options)
    task.evaluate(Sorting(by_table), "test", encode_kwargs=options)
    assert task.evaluate(alike, "test", encode_kwargs=options) == before
    assert options == {"show_progress_bar": False, "batch_size": 2}


def test_queries_and_candidates_of_one_kind_are_embedded_alike():
    class Sided(ToyEncoder):
        def encode(self, inputs, *, prompt_type=None, **kwargs):
            self.seen.append(prompt_type)
            return super().encode(inputs, prompt_type=prompt_type, **kwargs)

    task = make_ranking([question("q", [0, 1])])
    sided = Sided(spread)
    evaluate(task, sided)
    assert sided.seen == [PromptType.query, "query q", PromptType.document, "text q/0", "text q/1"]
    symmetric = make_ranking([question("q", [0, 1])])
    type(symmetric).protocol = dataclasses.replace(symmetric.protocol, symmetric=True)
    sided = Sided(spread)
    evaluate(symmetric, sided)
    assert sided.seen == [None, "query q", "text q/0", "text q/1"]


def test_a_search_model_ranks():
    scores = scores_of(make_ranking(QUESTIONS), ToySearch(by_table))
    assert scores["map"] == pytest.approx((1 / 2 + 1 / 3 + 1) / 3)


def test_a_model_with_vectors_and_a_search_is_compared_by_cosine():
    class Both(ToyEncoder):
        def index(self, corpus, **kwargs):
            raise AssertionError("its own index is no part of the protocol")

        def search(self, queries, **kwargs):
            raise AssertionError("its own search is no part of the protocol")

    vectors = {"query q": [1.0, 0.0], "text q/0": [10.0, 10.0], "text q/1": [0.1, 0.0]}
    scores = scores_of(make_ranking([question("q", [0, 1])]), Both(vectors.get))
    assert scores["map"] == 1.0


def test_a_late_interaction_model_ranks_by_its_search():
    class Late(ToySearch):
        encode = similarity = similarity_pairwise = ToyEncoder.similarity

    model = Late(by_table)
    model.mteb_model_meta = toy_meta("test/late", model_type=["late-interaction"])
    scores = scores_of(make_ranking(QUESTIONS), model)
    assert scores["map"] == pytest.approx((1 / 2 + 1 / 3 + 1) / 3)


def test_a_search_model_that_drops_a_candidate_fails_loudly():
    model = ToySearch(by_table, lose=lambda query, document: document == "q2/1")
    with pytest.raises(ProtocolError, match=r"question q2 has 2 of its 3 candidates"):
        evaluate(make_ranking(QUESTIONS), model)


def test_a_search_model_that_forgets_a_question_fails_loudly():
    model = ToySearch(by_table, lose=lambda query, document: query == "q1")
    with pytest.raises(ProtocolError, match=r"question q1 has 0 of its 4 candidates"):
        evaluate(make_ranking(QUESTIONS), model)


def test_a_search_model_with_nan_fails_loudly():
    model = ToySearch(lambda a, b: float("nan") if b == "text q2/2" else 1.0)
    with pytest.raises(ProtocolError, match=r"candidate q2/2 .* not a finite number"):
        evaluate(make_ranking(QUESTIONS), model)


@pytest.mark.parametrize("change", ["cut", "extra", "gone"])
def test_candidate_lists_cannot_be_cut_or_extended(change):
    task = make_ranking(QUESTIONS)
    task.load_data()
    ranked = task.dataset["default"]["test"]["top_ranked"]
    ranked["q1"] = {"cut": ranked["q1"][:2], "extra": [*ranked["q1"], "q2/0"], "gone": []}[change]
    with pytest.raises(ProtocolError, match=r"question q1 has .* full candidate list"):
        evaluate(task, ToyCrossEncoder(by_table))


def test_top_k_of_another_run_is_refused(tmp_path):
    with pytest.raises(ProtocolError, match="full candidate list"):
        make_ranking(QUESTIONS).convert_to_reranking(tmp_path)


def test_a_list_longer_than_mtebs_cut_is_ranked_whole():
    # The answer stands last of 1,500: mteb's default top_k of 1,000 would never see it.
    labels = [0] * 1499 + [1]
    scores = scores_of(
        make_ranking([question("q", labels)]),
        ToyCrossEncoder(lambda a, b: -int(b.rpartition("/")[2])),
    )
    assert scores["map"] == pytest.approx(1 / 1500)
    assert scores["map_at_1000"] == 0.0


def test_a_nan_names_question_and_candidate():
    model = ToyEncoder(lambda text: [float("nan") if text == "text q2/1" else 1.0, 1.0])
    with pytest.raises(ProtocolError, match=r"candidate q2/1 of question q2"):
        evaluate(make_ranking(QUESTIONS), model)


def test_predictions_are_written(tmp_path):
    import json

    evaluate(make_ranking(QUESTIONS), ToyCrossEncoder(by_table), prediction_folder=tmp_path)
    written = json.loads((tmp_path / "MadeUpRanking_predictions.json").read_text())
    assert written["default"]["test"]["q2"] == {"q2/0": 0.2, "q2/1": 0.7, "q2/2": 0.6}


@pytest.mark.parametrize("kind", ["ranking", "sts"])
def test_two_models_do_not_mix_in_one_prediction_folder(tmp_path, kind):
    task = make_ranking(QUESTIONS) if kind == "ranking" else make_sts({"default": PAIRS})
    model = ToyCrossEncoder(lambda a, b: float(sum(map(ord, b))))
    evaluate(task, model, prediction_folder=tmp_path)
    evaluate(task, model, prediction_folder=tmp_path)
    other = ToyCrossEncoder(lambda a, b: -float(sum(map(ord, b))))
    other.mteb_model_meta = toy_meta("test/other")
    with pytest.raises(ProtocolError, match="holds the predictions of test/toy-cross"):
        evaluate(task, other, prediction_folder=tmp_path)
    assert other.seen == []


@pytest.mark.parametrize("kind", ["ranking", "sts"])
def test_predictions_carry_the_edition_of_the_data(tmp_path, kind):
    task = make_ranking(QUESTIONS) if kind == "ranking" else make_sts({"default": PAIRS})
    model = ToyCrossEncoder(lambda a, b: float(sum(map(ord, b))))
    evaluate(task, model, prediction_folder=tmp_path)
    path = tmp_path / task.prediction_file_name
    assert dataset_revision(read_predictions(path)) == task.metadata.revision
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    task.load_data()
    other = {**task.metadata.dataset, "revision": "other"}
    task.metadata = task.metadata.model_copy(update={"dataset": other})
    with pytest.raises(ProtocolError, match="and this run is on other"):
        evaluate(task, model, prediction_folder=tmp_path)


# --- QABot: data that only the user has ----------------------------------------------------------


def test_without_its_data_qabot_is_skipped_and_says_whom_to_ask(no_data, caplog):
    tasks = [mteb.get_task("QABot"), mteb.get_task("WikiQA.sample")]
    with caplog.at_level(logging.WARNING):
        result = mteb.evaluate(ToyEncoder(spread), tasks, cache=None, encode_kwargs=dict(QUIET))
    assert [r.task_name for r in result.task_results] == ["WikiQA.sample"]
    ours = [record.getMessage() for record in caplog.records if "QABot" in record.getMessage()]
    assert len(ours) == 1
    assert str(no_data / "qabot") in ours[0]
    assert "github.com/ccilab-doshisha/SDJC" in ours[0]


def test_made_up_qabot_of_the_right_counts_runs_and_says_that_it_is_not_the_real_one(
    no_data, caplog
):
    write_qabot(no_data)
    task = mteb.get_task("QABot")
    model = ToyEncoder(spread)
    with caplog.at_level(logging.WARNING, "mteb_ext"):
        result = evaluate(task, model)
    assert result.dataset_revision.startswith("unverified-")
    assert any("not the paper's edition" in record.getMessage() for record in caplog.records)
    scores = result.scores["test"][0]
    assert scores["num_queries"] == 20
    assert {"map", "mrr", "precision_at_1", "precision_at_5"} <= set(scores)
    assert len(model.seen) == 20 + 1142
    assert not any("秘密" in text for text in model.seen)
    assert mteb.get_task("QABot").metadata.revision == type(task).metadata.revision


def test_qabot_with_a_row_too_few_is_an_error(no_data):
    write_qabot(no_data, candidates=(1140, 1141, 1142, *[1141] * 9, *[1142] * 8))
    with pytest.raises(DataError, match=r"QABot \(test\): expected rows: 22829, found: 22828"):
        mteb.get_task("QABot").load_data()


def test_qabot_with_lists_swapped_is_an_error(no_data):
    write_qabot(no_data, candidates=(1142, 1141, *[1141] * 10, *[1142] * 8))
    with pytest.raises(DataError, match=r"expected candidates: \(1141, 1141, 1142"):
        mteb.get_task("QABot").load_data()


# --- models that do strange things ---------------------------------------------------------------


class Meddling(ToyEncoder):
    """Changes what it is handed: the batches, the options and the data behind the loader."""

    def encode(self, inputs, *, task_metadata, hf_split, hf_subset, prompt_type=None, **kwargs):
        found = super().encode(
            inputs, task_metadata=task_metadata, hf_split=hf_split, hf_subset=hf_subset
        )
        for batch in inputs:
            batch["text"][:] = ["changed"] * len(batch["text"])
            batch.clear()
        kwargs.clear()
        inputs.dataset = None if not hasattr(inputs, "dataset") else inputs.dataset.select([])
        return found


@pytest.mark.parametrize("kind", ["ranking", "sts"])
def test_a_model_that_changes_its_inputs_does_not_reach_the_next_one(kind):
    task = make_ranking(QUESTIONS) if kind == "ranking" else make_sts({"default": PAIRS})
    task.load_data()

    def scores(model):
        options = dict(QUIET)
        found = task.evaluate(model, "test", encode_kwargs=options)
        assert options == QUIET
        return found

    before = scores(ToyEncoder(spread))
    with contextlib.suppress(ValueError):  # torch forbids to exchange a loader's data
        assert scores(Meddling(spread)) == before
    assert scores(ToyEncoder(spread)) == before


def test_a_model_that_answers_differently_each_time_is_asked_once():
    class Moody(ToyEncoder):
        def encode(self, inputs, **kwargs):
            rows = super().encode(inputs, **kwargs)
            self.calls = getattr(self, "calls", 0) + 1
            return rows + np.random.default_rng(self.calls).standard_normal(rows.shape)

    # The first pair is one text twice: its cosine is 1 only if the text has one vector.
    pairs = Pairs(["a", "b", "c", "d"], ["a", "c", "d", "e"], [5.0, 1.0, 2.0, 3.0])
    task = make_sts({"default": pairs})
    model = Moody(spread)
    evaluate(task, model)
    assert sorted(model.seen) == ["a", "b", "c", "d", "e"]
    assert model.calls == 1


@pytest.mark.parametrize("value", [0.0, 1.0, -1e300, 1e300])
def test_a_constant_scorer_ranks_by_chance(value):
    found = scores_of(make_ranking([question("q", [1, 0, 0])]), ToyCrossEncoder(lambda a, b: value))
    # One relevant candidate at place 1, 2 or 3: the mean of 1, 1/2 and 1/3.
    assert found["map"] == pytest.approx((1 + 1 / 2 + 1 / 3) / 3, abs=1e-12)
    assert (found["map_best"], found["map_worst"]) == (1, pytest.approx(1 / 3, abs=1e-12))


@pytest.mark.parametrize("more", [-1, 1])
@pytest.mark.parametrize("kind", ["ranking", "sts"])
def test_a_wrong_number_of_rows_is_an_error(kind, more):
    class Wrong(ToyEncoder):
        def encode(self, inputs, **kwargs):
            right = sum(len(batch["text"]) for batch in inputs)
            return np.ones((right + more, 2))

    task = make_ranking(QUESTIONS) if kind == "ranking" else make_sts({"default": PAIRS})
    with pytest.raises(ProtocolError, match=r"the model returned \d+ rows for \d+ texts"):
        evaluate(task, Wrong(None))
