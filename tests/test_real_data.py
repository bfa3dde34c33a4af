"""The real files: counts, content, and the protocols' numbers, against independent readings."""

from __future__ import annotations

import csv
import hashlib
import json
import re
import shutil
import zipfile
from collections import Counter
from pathlib import Path

import mteb
import numpy as np
import pandas as pd
import pytest
import pytrec_eval
from conftest import ToyEncoder, spread
from scipy import stats

from mteb_ext import DataError, load_dataset
from mteb_ext.data.sources import data_folder
from mteb_ext.plugin.discovery import own_tasks

pytestmark = pytest.mark.real_data

QUIET = {"show_progress_bar": False}
TASKS = {task.metadata.name: task for task in own_tasks()}
PUBLIC = [name for name, task in TASKS.items() if task.metadata.is_public]
TRACKS = ["1.ar-ar", "2.ar-en", "3.es-es", "4a.es-en", "4b.es-en", "5.en-en", "6.tr-en"]
PAIRS = ["cs-en", "de-en", "fi-en", "lv-en", "ru-en", "tr-en", "zh-en"]


def find(pattern):
    paths = list(data_folder().glob(pattern))
    if not paths:
        pytest.skip(f"{pattern} is not in the data folder")
    (path,) = paths
    return path


def fingerprint(rows):
    lines = (json.dumps(list(row), ensure_ascii=False, separators=(",", ":")) for row in rows)
    return hashlib.sha256("".join(line + "\n" for line in lines).encode()).hexdigest()


# --- content, read a second way -------------------------------------------------------------------


def test_jacsts_read_by_another_library():
    calamine = pytest.importorskip("python_calamine")
    sheet = calamine.CalamineWorkbook.from_path(find("sociocom/*/*/*.xls")).get_sheet_by_index(0)
    rows = sheet.to_python()
    assert fingerprint(rows) == TASKS["JACSTS"].protocol.facts["test"]["default"].fingerprint
    assert Counter(score for _, _, score in rows) == dict(
        zip(range(6), (979, 485, 74, 803, 693, 636), strict=True)
    )
    gold = {}
    for first, second, score in rows:
        gold.setdefault((first, second), []).append(score)
    repeated = [scores for scores in gold.values() if len(scores) > 1]
    assert sum(len(scores) - 1 for scores in repeated) == 29
    assert sum(len(scores) - 1 for scores in repeated if len(set(scores)) > 1) == 27


def test_the_3482_pairs_of_jacsts_joined_by_another_library():
    file = find("ccilab-doshisha/SDJC/*/SentEval/data/downstream/STS/JAC-STS/JAC-sts-test.csv")
    part = pd.read_csv(
        file, sep="\t", quoting=csv.QUOTE_NONE, header=None, names=["score", "first", "second"]
    )
    content, _ = TASKS["JACSTS"].load("test")
    rows = pd.DataFrame(
        {"first": content.sentence1, "second": content.sentence2, "score": content.score}
    )
    for column in ("first", "second"):
        rows[column] = rows[column].str.strip()
    keys = ["first", "second", "score"]
    for frame in (rows, part):  # equal rows are numbered, so that each has one partner
        frame["copy"] = frame.groupby(keys).cumcount()
    part["in"] = True
    joined = rows.merge(part, how="left", on=[*keys, "copy"], validate="one_to_one")
    assert (len(part), joined["in"].notna().sum()) == (3482, 3482)
    assert content.parts == {"3482": joined["in"].notna().tolist()}
    left_out = rows["score"][~np.array(content.parts["3482"])]
    assert Counter(left_out) == {0.0: 50, 1.0: 28, 2.0: 5, 3.0: 41, 4.0: 29, 5.0: 35}


@pytest.mark.parametrize(
    ("split", "raw", "kept"),
    [
        ("train", (2118, 20_360), (873, 8672)),
        ("dev", (296, 2733), (126, 1130)),
        ("test", (633, 6165), (243, 2351)),
    ],
)
def test_wikiqa_read_by_another_library(split, raw, kept):
    file = find(f"JasonRui/*/*/WikiQACorpus/WikiQA-{split}.tsv")
    frame = pd.read_csv(file, sep="\t", quoting=csv.QUOTE_NONE, keep_default_na=False)
    rows = zip(
        frame["QuestionID"],
        frame["Question"],
        frame["Sentence"],
        map(int, frame["Label"]),
        strict=True,
    )
    assert fingerprint(rows) == TASKS["WikiQA"].protocol.facts[split].fingerprint
    for expected, whole in ((raw, True), (kept, False)):
        loaded = load_dataset("WikiQA", split, raw=whole)
        assert (len(set(loaded["question_id"])), len(loaded)) == expected


@pytest.mark.parametrize(("split", "n"), [("dev", 122), ("test", 237)])
def test_wikiqas_second_filter_is_the_corpus_own(split, n):
    judged = find(f"JasonRui/*/*/WikiQACorpus/WikiQA-{split}-filtered.ref").read_text().split("\n")
    by_question = {}
    for line in filter(None, judged):
        question, _, _, label = line.split()
        by_question.setdefault(question, []).append(int(label))
    assert len(by_question) == n
    loaded = load_dataset("WikiQA", split, raw=True)
    ours = {}
    for question, label in zip(loaded["question_id"], loaded["label"], strict=True):
        ours.setdefault(question, []).append(label)
    both = [labels for labels in ours.values() if 0 < sum(labels) < len(labels)]
    assert both == list(by_question.values())


@pytest.mark.parametrize(
    ("split", "name", "with_candidates", "clean"),
    [
        ("dev", "DEV", (81, 1148, 222), (65, 1117, 205)),
        ("test", "TEST", (95, 1517, 284), (68, 1442, 248)),
    ],
)
def test_unmasked_trecqa_read_by_regular_expression(split, name, with_candidates, clean):
    text = find(f"castorini/*/*/TrecQA/data/{name}.xml").read_text("utf-8")
    rows = []
    for block in re.finditer(r"<QApairs id='([^']*)'>\n(.*?)</QApairs>\n", text, re.DOTALL):
        question = re.search(r"<question>\n(.*)\n", block[2])[1].replace("\t", " ")
        for kind, tokens in re.findall(r"<(positive|negative)>\n(.*)\n", block[2]):
            candidate = tokens.replace("\t", " ")
            rows.append((block[1], question.strip(), candidate.strip(), int(kind == "positive")))
    assert fingerprint(rows) == TASKS["TRECQAUnmasked"].protocol.facts[split].fingerprint
    for expected, raw in ((with_candidates, True), (clean, False)):
        loaded = load_dataset("TRECQAUnmasked", split, raw=raw)
        counts = (len(set(loaded["question_id"])), len(loaded), sum(loaded["label"]))
        assert counts == expected


@pytest.mark.parametrize(
    ("split", "name", "longest", "with_candidates", "kept"),
    [
        ("train", "train-all.jsonl.gz", None, (1229, 53_417, 6410), (1229, 53_417, 6410)),
        ("dev", "dev.jsonl", 40, (81, 1148, 222), (65, 1117, 205)),
        ("test", "test.jsonl", None, (95, 1517, 284), (68, 1442, 248)),
    ],
)
def test_trecqa_read_by_another_library(split, name, longest, with_candidates, kept):
    frame = pd.read_json(find(f"mcrisc/lexdecomp/*/trec-qa/{name}"), lines=True, dtype=False)
    frame["id"] = (frame.index + 1).astype(str)
    rows = frame.explode("candidates").dropna(subset="candidates")
    rows["sentence"] = rows["candidates"].str["sentence"]
    rows["label"] = rows["candidates"].str["label"].astype(int)
    if longest:
        rows = rows[rows["sentence"].str.count(" ") < longest]  # one space between tokens
    found = zip(rows["id"], rows["question"], rows["sentence"], rows["label"], strict=True)
    assert fingerprint(found) == TASKS["TRECQA"].protocol.facts[split].fingerprint
    by_question = rows.groupby("id")["label"].agg(["sum", "count"])
    if split != "train":
        by_question = by_question[by_question["sum"].between(1, by_question["count"] - 1)]
    for expected, raw in ((with_candidates, True), (kept, False)):
        loaded = load_dataset("TRECQA", split, raw=raw)
        counts = (len(set(loaded["question_id"])), len(loaded), sum(loaded["label"]))
        assert counts == expected
    assert kept == (len(by_question), by_question["count"].sum(), by_question["sum"].sum())


def test_trecqas_editions_differ_in_their_numbers():
    masked, unmasked = (load_dataset(name, raw=True) for name in ("TRECQA", "TRECQAUnmasked"))
    assert sum("<num>" in text for text in masked["candidate"]) == 540
    assert not any("<num>" in text for text in unmasked["candidate"])
    assert masked["label"] == unmasked["label"]


def expected_average_precision(scores, labels):
    """Mean over all orders of equal scores: each place of a relevant candidate by itself."""
    relevant, before, relevant_before, total = sum(labels), 0, 0, 0.0
    for score in sorted(set(scores), reverse=True):
        tied = [label for s, label in zip(scores, labels, strict=True) if s == score]
        n, r = len(tied), sum(tied)
        for place in range(1, n + 1):
            others = (place - 1) * (r - 1) / (n - 1) if n > 1 else 0
            total += r / n * (relevant_before + others + 1) / (before + place)
        before, relevant_before = before + n, relevant_before + r
    return total / relevant


@pytest.mark.parametrize(
    ("name", "expected", "trec_eval"),
    [("TRECQA", 0.6861, 0.5801), ("TRECQAUnmasked", 0.6846, 0.5797)],
)
def test_the_word_counts_map_on_the_68_questions(name, expected, trec_eval):
    from mteb_ext.baselines.word_count import content_words

    if name == "TRECQA":
        lines = find("mcrisc/lexdecomp/*/trec-qa/test.jsonl").read_text("utf-8").splitlines()
        rows = map(json.loads, lines)
        lists = [
            (row["question"], [(c["sentence"], c["label"]) for c in row["candidates"]])
            for row in rows
        ]
    else:
        text = find("castorini/*/*/TrecQA/data/TEST.xml").read_text("utf-8")
        lists = [
            (
                re.search("<question>\n(.*)", block)[1].replace("\t", " "),
                [
                    (tokens.replace("\t", " "), int(kind == "positive"))
                    for kind, tokens in re.findall("<(positive|negative)>\n(.*)", block)
                ],
            )
            for block in text.split("<QApairs")[1:]
        ]
    qrels, run, expectations = {}, {}, []
    for number, (question, candidates) in enumerate(lists):
        labels = [label for _, label in candidates]
        if not 0 < sum(labels) < len(labels):
            continue
        asked = content_words(question)
        scores = [len(asked & content_words(text)) for text, _ in candidates]
        expectations.append(expected_average_precision(scores, labels))
        names = [f"{i:04d}" for i in range(len(labels))]
        qrels[str(number)] = dict(zip(names, labels, strict=True))
        run[str(number)] = {n: float(s) for n, s in zip(names, scores, strict=True)}
    measured = pytrec_eval.RelevanceEvaluator(qrels, {"map"}).evaluate(run).values()
    scores = result_of(mteb.get_model("mteb-ext/word-count"), name).scores["test"][0]
    assert len(expectations) == scores["num_queries"] == 68
    assert scores["map"] == pytest.approx(np.mean(expectations), abs=1e-9)
    assert scores["map_trec_eval"] == pytest.approx(np.mean([m["map"] for m in measured]), abs=1e-6)
    assert (round(scores["map"], 4), round(scores["map_trec_eval"], 4)) == (expected, trec_eval)


@pytest.mark.parametrize("track", TRACKS)
def test_sts17_read_line_by_line(track):
    def lines(archive, member):
        with zipfile.ZipFile(find(f"eduardofv/*/*/data/sources/{archive}")) as file:
            return file.read(member).decode().rstrip("\n").split("\n")

    pairs = lines("Sts2017.eval*", f"STS2017.eval.v1.1/STS.input.track{track}.txt")
    gold = lines("Sts2017.gs*", f"STS2017.gs/STS.gs.track{track}.txt")
    rows = [
        (*pair.split("\t"), float(score)) for pair, score in zip(pairs[:250], gold, strict=True)
    ]
    name, subset = "STS17SemEval", track.replace(".", "-")
    if track == "6.tr-en":
        name, subset = "STS17SemEvalTurkish", "default"
        assert len(pairs) == 500
    facts = TASKS[name].protocol.facts["test"][subset]
    assert (len(rows), fingerprint(rows)) == (250, facts.fingerprint)
    if track == "4b.es-en":
        assert {score for *_, score in rows} == {2, 3, 4, 5}
        assert sum(any(text.startswith('"') for text in row[:2]) for row in rows) == 34


@pytest.mark.parametrize(
    ("split", "n", "genres"),
    [
        ("train", 5749, (3299, 2000, 450)),
        ("dev", 1500, (500, 625, 375)),
        ("test", 1379, (500, 625, 254)),
    ],
)
def test_stsbenchmark_read_by_another_library(split, n, genres):
    file = find(f"eduardofv/*/*/data/stsbenchmark/sts-{split}.csv")
    frame = pd.read_csv(
        file,
        sep="\t",
        quoting=csv.QUOTE_NONE,
        header=None,
        names=range(9),
        keep_default_na=False,
        dtype={5: str, 6: str},
    )
    names = {"main-forum": "forums", "main-forums": "forums"}
    genre = [names.get(name, name.removeprefix("main-")) for name in frame[0]]
    rows = zip(frame[5], frame[6], map(float, frame[4]), genre, strict=True)
    facts = TASKS["STSBenchmarkSemEval"].protocol.facts[split]["default"]
    assert (len(frame), fingerprint(rows)) == (n, facts.fingerprint)
    found = Counter(load_dataset("STSBenchmarkSemEval", split)["genre"])
    assert tuple(found[genre] for genre in ("news", "captions", "forums")) == genres


@pytest.mark.parametrize("task", ["WMT17Metrics", "WMT17MetricsQE"])
@pytest.mark.parametrize("pair", PAIRS)
def test_wmt17_read_by_another_library(task, pair):
    folder = find("qingsongma/blend/*/sample/data/data/wmt17")
    side = pair[:2]
    other = (
        f"references/newstest2017-{side}en-ref.en"
        if task == "WMT17Metrics"
        else f"sources/newstest2017-{side}en-src.{side}"
    )
    texts = (folder / other).read_bytes().decode("utf-8-sig").split("\n")
    judged = pd.read_csv(find("AIPHES/*/*/WMT17/DA-seglevel.csv"), sep=" ")
    rows = []
    for row in judged[judged["LP"] == pair].itertuples():
        outputs = {
            (folder / f"system-outputs/newstest2017/{pair}/newstest2017.{system}.{pair}")
            .read_bytes()
            .decode("utf-8-sig")
            .split("\n")[row.SID - 1]
            for system in row.SYSTEM.split("+")
        }
        assert len(outputs) == 1  # systems joined by + have the same output
        rows.append((texts[row.SID - 1], outputs.pop(), row.HUMAN))
    facts = TASKS[task].protocol.facts["test"][pair]
    assert (len(rows), fingerprint(rows)) == (560, facts.fingerprint)


@pytest.mark.parametrize("task", ["WMT17Metrics", "WMT17MetricsQE"])
@pytest.mark.parametrize("pair", ["cs-en", "de-en", "fi-en", "ro-en", "ru-en", "tr-en"])
def test_wmt_training_data_is_divided_without_loss(task, pair):
    kind = "reference" if task == "WMT17Metrics" else "source"
    folder = find("qingsongma/blend/*/sample/data/data/da-wmt15").parent
    whole = []
    for human in sorted(folder.glob(f"da-wmt1[56]/{pair}/*.human.{pair}")):
        files = [Path(str(human).replace(".human.", f".{k}.")) for k in (kind, "mt-system")]
        columns = [file.read_bytes().decode("utf-8-sig").rstrip("\n").split("\n") for file in files]
        gold = [float(line) for line in human.read_text().split()]
        whole += list(zip(*columns, gold, strict=True))
    order = sorted(
        range(len(whole)), key=lambda i: hashlib.sha256(f"17:{pair}:{i}".encode()).digest()
    )
    assert len(whole) == (560 if pair in {"ro-en", "tr-en"} else 1060)
    parts = {"dev": sorted(order[: len(whole) // 10]), "train": sorted(order[len(whole) // 10 :])}
    for split, rows in parts.items():
        facts = TASKS[task].protocol.facts[split][pair]
        expected = [whole[i] for i in rows]
        assert (len(rows), fingerprint(expected)) == (facts.pairs, facts.fingerprint)


@pytest.mark.parametrize("task", ["WMT17Metrics", "WMT17MetricsQE"])
def test_the_wmt_parts_have_the_papers_sizes(task):
    assert [len(load_dataset(task, split)) for split in ("train", "dev", "test")] == [
        4824,
        536,
        3920,
    ]


def test_track_5_is_inside_the_stsbenchmark():
    def pairs(rows):
        return set(zip(rows["sentence1"], rows["sentence2"], strict=True))

    track = pairs(load_dataset("STS17SemEval", subset="5-en-en"))
    benchmark = pairs(load_dataset("STSBenchmarkSemEval", "dev")) | pairs(
        load_dataset("STSBenchmarkSemEval", "test")
    )
    assert len(track) == 250
    assert track <= benchmark


# --- damage --------------------------------------------------------------------------------------


@pytest.mark.parametrize("damage", ["cut", "changed"])
def test_a_damaged_file_names_task_file_and_next_step(damage, tmp_path, monkeypatch):
    key = find("JasonRui/*/*/WikiQACorpus/WikiQA-test.tsv").relative_to(data_folder())
    content = (data_folder() / key).read_bytes()
    (tmp_path / key).parent.mkdir(parents=True)
    (tmp_path / key).write_bytes(content[:-100] if damage == "cut" else content[:-2] + b"1\n")
    monkeypatch.setenv("MTEB_EXT_DATA", str(tmp_path))
    with pytest.raises(DataError, match=r"WikiQA \(test\): .*WikiQA-test\.tsv.*Delete it"):
        mteb.get_task("WikiQA").load_data()


def test_a_wrong_row_count_is_an_error_even_where_the_hash_is_right(tmp_path, monkeypatch):
    from mteb_ext.data import sources

    key = str(find("JasonRui/*/*/WikiQACorpus/WikiQA-dev.tsv").relative_to(data_folder()))
    content = (data_folder() / key).read_bytes()
    short = content[: content.rstrip(b"\n").rindex(b"\n") + 1]
    (tmp_path / key).parent.mkdir(parents=True)
    (tmp_path / key).write_bytes(short)
    monkeypatch.setenv("MTEB_EXT_DATA", str(tmp_path))
    monkeypatch.setattr(sources, "registry", lambda: {key: hashlib.sha256(short).hexdigest()})
    with pytest.raises(DataError, match=r"WikiQA \(dev\): expected rows: 2733, found: 2732"):
        load_dataset("WikiQA", "dev")


def test_right_counts_with_other_content_are_an_error(tmp_path, monkeypatch):
    from mteb_ext.data import sources

    key = str(find("JasonRui/*/*/WikiQACorpus/WikiQA-dev.tsv").relative_to(data_folder()))
    before, _, after = (data_folder() / key).read_bytes().rpartition(b" the ")
    content = before + b" THE " + after  # in a sentence
    (tmp_path / key).parent.mkdir(parents=True)
    (tmp_path / key).write_bytes(content)
    monkeypatch.setenv("MTEB_EXT_DATA", str(tmp_path))
    monkeypatch.setattr(sources, "registry", lambda: {key: hashlib.sha256(content).hexdigest()})
    with pytest.raises(DataError, match="the counts are right, but the content differs"):
        load_dataset("WikiQA", "dev")


def test_a_read_only_copy_of_the_data_works(tmp_path, monkeypatch):
    source = find("eduardofv/*/*/data/stsbenchmark/sts-test.csv")
    target = tmp_path / source.relative_to(data_folder())
    target.parent.mkdir(parents=True)
    shutil.copy(source, target)
    for path in (target, target.parent):
        path.chmod(path.stat().st_mode & ~0o222)
    monkeypatch.setenv("MTEB_EXT_DATA", str(tmp_path))
    assert len(load_dataset("STSBenchmarkSemEval")) == 1379
    target.parent.chmod(0o755)


# --- one encode ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["JACSTS", "WikiQA", "TRECQA", "STSBenchmarkSemEval"])
def test_each_distinct_text_of_a_task_goes_through_the_model_once(name):
    model = ToyEncoder(spread)
    mteb.evaluate(model, mteb.get_task(name), cache=None, encode_kwargs=dict(QUIET))
    assert len(model.seen) == len(set(model.seen))
    if name == "JACSTS":
        assert len(model.seen) == 4698


# --- numbers -------------------------------------------------------------------------------------


def result_of(model, name, **kwargs):
    task = mteb.get_task(name, **kwargs)
    return mteb.evaluate(model, task, cache=None, encode_kwargs=dict(QUIET)).task_results[0]


@pytest.mark.models
@pytest.mark.parametrize(
    ("name", "map_", "mrr"), [("TRECQA", 0.7443, 0.7982), ("TRECQAUnmasked", 0.7616, 0.8359)]
)
def test_minilm_on_trecqa_equals_an_independent_computation(minilm, name, map_, mrr):
    rows = load_dataset(name, raw=True).to_pandas()
    texts = sorted(set(rows["question"]) | set(rows["candidate"]))
    vectors = minilm.encode(texts, normalize_embeddings=True, show_progress_bar=False)
    place = {text: i for i, text in enumerate(texts)}
    left, right = (vectors[[place[t] for t in rows[c]]] for c in ("question", "candidate"))
    rows["score"] = (left * right).sum(axis=1)
    qrels, run = {}, {}
    for row in rows.itertuples():
        qrels.setdefault(row.question_id, {})[row.candidate_id] = row.label
        run.setdefault(row.question_id, {})[row.candidate_id] = float(row.score)
    measured = pytrec_eval.RelevanceEvaluator(qrels, {"map", "recip_rank"}).evaluate(run)
    clean = [q for q, labels in qrels.items() if 0 < sum(labels.values()) < len(labels)]
    scores = result_of(minilm, name).scores["test"][0]
    assert (round(scores["map"], 4), round(scores["mrr"], 4)) == (map_, mrr)
    for key, measure, questions in (
        ("map", "map", clean),
        ("mrr", "recip_rank", clean),
        ("map_raw", "map", list(qrels)),
        ("mrr_raw", "recip_rank", list(qrels)),
    ):
        expected = np.mean([measured[q][measure] for q in questions])
        assert scores[key] == pytest.approx(expected, abs=1e-4), key
    assert (len(clean), len(qrels)) == (68, 95)


@pytest.mark.models
def test_a_multilingual_model_on_all_tracks_equals_scipy(multilingual, use):
    result = result_of(multilingual, "STS17SemEval")
    expected = {}
    for scores in result.scores["test"]:
        rows = load_dataset("STS17SemEval", subset=scores["hf_subset"])
        left, right = (use(list(rows[c])) for c in ("sentence1", "sentence2"))
        cosine = (
            (left * right).sum(1) / np.linalg.norm(left, axis=1) / np.linalg.norm(right, axis=1)
        )
        expected[scores["hf_subset"]] = stats.pearsonr(cosine, rows["score"])[0]
        assert scores["pearson"] == pytest.approx(expected[scores["hf_subset"]], abs=1e-5)
    assert len(expected) == 6
    assert result.get_score() == pytest.approx(np.mean(list(expected.values())), abs=1e-5)
    turkish = result_of(multilingual, "STS17SemEvalTurkish")
    assert turkish.get_score() > 0.3


def test_wmt17s_headline_is_the_mean_of_seven_and_not_the_pooled_correlation():
    model = mteb.get_model("mteb-ext/sentence-bleu")
    result = result_of(model, "WMT17Metrics")
    by_pair = {scores["hf_subset"]: scores["pearson"] for scores in result.scores["test"]}
    assert set(by_pair) == set(PAIRS)
    assert result.get_score() == pytest.approx(np.mean(list(by_pair.values())), abs=1e-12)
    from mteb_ext.baselines.sentence_bleu import SentenceBleu

    bleu = SentenceBleu()
    rows = load_dataset("WMT17Metrics")
    scores = [
        bleu.score(bleu.prepare(reference), bleu.prepare(output))
        for reference, output in zip(rows["sentence1"], rows["sentence2"], strict=True)
    ]
    pooled = stats.pearsonr(scores, rows["score"])[0]
    assert abs(pooled - result.get_score()) > 0.001
