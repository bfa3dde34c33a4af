"""The shipped tasks: their metadata, and a run on each bundled sample."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import mteb
import numpy as np
import pytest
from conftest import ToyCrossEncoder, ToyEncoder, spread, write_qabot

from mteb_ext import DataError, load_dataset
from mteb_ext.bases import PaperRanking, PaperSTS, PaperTask
from mteb_ext.data import readers, sources
from mteb_ext.data.records import Pairs
from mteb_ext.data.sources import registry
from mteb_ext.plugin.discovery import own_tasks
from mteb_ext.plugin.lookup import paper_task
from mteb_ext.protocol import QuestionFacts

ROOT = Path(__file__).parent.parent
QUIET = {"show_progress_bar": False}
TASKS = {task.metadata.name: task for task in own_tasks()}
SAMPLES = [f"{name}.sample" for name in TASKS]


def test_every_task_file_holds_a_task():
    files = {p.stem for p in (ROOT / "tasks").glob("*.py") if not p.stem.startswith("_")}
    assert {task.__module__ for task in TASKS.values()} == {f"mteb_ext.tasks.{f}" for f in files}
    assert len(TASKS) == len(own_tasks()) > len(files)


@pytest.mark.parametrize("name", TASKS)
def test_metadata_is_complete_and_valid(name):
    metadata = TASKS[name].metadata
    assert metadata.is_filled()
    metadata._validate_metadata()
    assert metadata.bibtex_citation.strip().startswith("@")
    assert metadata.intext_citation().startswith("\\cite{")
    if metadata.is_public:
        assert any(
            key.startswith(f"{metadata.dataset['path']}/{metadata.revision}/") for key in registry()
        )


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("kind", ["encoder", "cross-encoder"])
def test_samples_run(name, kind, no_data):
    model = (
        ToyEncoder(spread)
        if kind == "encoder"
        else ToyCrossEncoder(lambda a, b: len(a) - 0.1 * len(b))
    )
    task = mteb.get_task(name)
    result = mteb.evaluate(model, task, cache=None, encode_kwargs=dict(QUIET)).task_results[0]
    assert result.dataset_revision == "sample"
    assert set(result.hf_subsets) == set(task.metadata.hf_subsets)
    assert all(
        scores["main_score"] == scores[task.metadata.main_score] for scores in result.scores["test"]
    )
    json.dumps(result.to_dict(), default=str)
    assert len(model.seen) == len(set(model.seen))


def test_records_are_checked_whatever_their_source(monkeypatch):
    def read(cls, source, split, subset):
        return pairs(("a", "b", 1.0), ("c", "d", float("nan")))

    monkeypatch.setattr(paper_task("JACSTS.sample"), "read", classmethod(read))
    with pytest.raises(DataError, match=r"JACSTS\.sample \(test\): the gold score of row 2 is nan"):
        load_dataset("JACSTS.sample")


@pytest.mark.parametrize("name", SAMPLES)
def test_samples_are_large_enough(name, no_data):
    rows = load_dataset(name, "test", raw=True)
    if "label" in rows.column_names:
        assert len(set(rows["question_id"])) >= 8
    else:
        assert len(rows) >= 20


@pytest.mark.models
@pytest.mark.parametrize("name", SAMPLES)
def test_a_multilingual_model_runs_the_samples(name, multilingual, no_data):
    task = mteb.get_task(name)
    result = mteb.evaluate(multilingual, task, cache=None, encode_kwargs=dict(QUIET)).task_results[
        0
    ]
    if name != "WMT17MetricsQE.sample":  # its scores depend on the translation's quality only
        assert result.get_score() > 0.1


@pytest.mark.parametrize(
    ("name", "split"),
    [(task, split) for task in SAMPLES for split in TASKS[task.removesuffix(".sample")].splits()],
)
def test_every_split_of_a_sample_loads(name, split, no_data):
    assert len(load_dataset(name, split)) > 0


def test_load_dataset_filters_as_the_paper_does(no_data):
    raw = load_dataset("WikiQA.sample", "test", raw=True)
    kept = load_dataset("WikiQA.sample", "test")
    assert raw.column_names == ["question_id", "question", "candidate_id", "candidate", "label"]
    assert len(set(raw["question_id"])) > len(set(kept["question_id"]))
    with_answer = {q for q, label in zip(raw["question_id"], raw["label"], strict=True) if label}
    assert set(kept["question_id"]) == with_answer
    train = load_dataset("TRECQA.sample", "train")
    assert len(train) == len(load_dataset("TRECQA.sample", "train", raw=True))


def test_load_dataset_of_subsets(no_data):
    whole = load_dataset("STS17SemEval.sample")
    assert set(whole["subset"]) == set(TASKS["STS17SemEval"].metadata.hf_subsets)
    one = load_dataset("STS17SemEval.sample", subset="5-en-en")
    assert one.column_names == ["sentence1", "sentence2", "score"]
    assert len(one) * 6 == len(whole)
    assert "genre" in load_dataset("STSBenchmarkSemEval.sample", "dev").column_names


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("WikiQAA",), "no task 'WikiQAA'.*Did you mean 'WikiQA'"),
        (("STS12",), "mteb's own task"),
        (("WikiQA", "validation"), r"WikiQA \(validation\): .* train, dev, test"),
        (("JACSTS", "train"), r"JACSTS \(train\): there is no such split; there are test"),
    ],
)
def test_load_dataset_of_what_is_not_there(arguments, message):
    with pytest.raises(DataError, match=message):
        load_dataset(*arguments)


def test_load_dataset_of_a_subset_that_is_not_there():
    with pytest.raises(DataError, match="5-en-en"):
        load_dataset("STS17SemEval", subset="5")
    with pytest.raises(DataError, match="no subsets"):
        load_dataset("WikiQA", subset="5")


def switched(share, seed, name="WikiQA.sample", **kwargs):
    clean = load_dataset(name, "train", **kwargs)
    noisy = load_dataset(name, "train", label_noise=share, seed=seed, **kwargs)
    assert noisy.remove_columns("label").to_dict() == clean.remove_columns("label").to_dict()
    pairs = zip(clean["label"], noisy["label"], strict=True)
    return {i for i, (before, after) in enumerate(pairs) if before == 1 - after}


def test_label_noise_switches_exactly_its_share(no_data):
    n_rows = len(load_dataset("WikiQA.sample", "train"))
    assert n_rows == 19
    for share, n in ((0.0, 0), (0.1, 2), (0.2, 4), (0.5, 10), (1.0, 19)):
        assert len(switched(share, 1)) == n
    assert len(switched(0.5, 1, raw=True)) == 11  # of 22


def test_label_noise_is_the_same_on_every_machine(no_data):
    assert switched(0.2, 1) == {5, 14, 16, 17}
    assert switched(0.2, 2) == {1, 6, 9, 16}
    assert switched(0.2, 1) < switched(0.5, 1)


@pytest.mark.parametrize(
    ("name", "split", "share"),
    [
        ("WikiQA.sample", "dev", 0.2),
        ("WikiQA.sample", "test", 0.2),
        ("WikiQA.sample", "train", 1.2),
        ("WikiQA.sample", "train", -0.2),
        ("WikiQA.sample", "train", float("nan")),
        ("WMT17Metrics.sample", "train", 0.2),
        ("ASNQ", "train", 0.2),
        ("SDJCClinic", "train", 0.2),
    ],
)
def test_label_noise_where_it_does_not_belong(name, split, share, no_data):
    with pytest.raises(DataError, match=r"label.noise"):
        load_dataset(name, split, label_noise=share)


def test_asnq_comes_from_the_users_folder(no_data, monkeypatch):
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", no_data / "cache")
    with pytest.raises(
        DataError, match=r"asnq/train\.tsv does not exist\. ASNQ is not fetched: take"
    ):
        load_dataset("ASNQ", "train")
    with pytest.raises(DataError, match=r"ASNQ \(test\): there is no such split"):
        load_dataset("ASNQ")
    file = no_data / "asnq" / "dev.tsv"
    file.parent.mkdir()
    file.write_bytes('who ?\t"One\u2028.\t4\nwho ?\tTwo .\t3\n'.encode())
    assert load_dataset("ASNQ", "dev").to_dict() == {
        "question": ["who ?", "who ?"],
        "candidate": ['"One\u2028.', "Two ."],
        "label": [1, 0],
    }
    file.write_bytes(b"who ?\tOne .\t4\nwho ?\tTwo .\t5\n")  # the cache is not asked
    with pytest.raises(DataError, match=r"dev\.tsv, line 2: expected a label from 1 to 4"):
        load_dataset("ASNQ", "dev")


def test_sdjcs_clinical_corpus_comes_from_the_users_folder(no_data):
    with pytest.raises(
        DataError, match=r"clinic_corpus\.txt does not exist\. The clinical corpus of"
    ):
        load_dataset("SDJCClinic", "train")
    with pytest.raises(DataError, match=r"SDJCClinic \(test\): there is no such split"):
        load_dataset("SDJCClinic")
    file = no_data / "sdjc" / "clinic_corpus.txt"
    file.parent.mkdir()
    file.write_text("一つ目。\n\n 二つ\u2028目。\n", encoding="utf-8")
    assert load_dataset("SDJCClinic", "train").to_dict() == {
        "sentence": ["一つ目。", "二つ\u2028目。"]
    }


def test_wmt_training_pairs_have_references_or_sources():
    references = load_dataset("WMT17Metrics.sample", "train").to_dict()
    sources = load_dataset("WMT17MetricsQE.sample", "train").to_dict()
    assert references["sentence1"] != sources["sentence1"]
    for name in ("sentence2", "score", "subset"):
        assert references[name] == sources[name]
    assert set(references["subset"]) == {
        f"{pair}-en" for pair in ("cs", "de", "fi", "ro", "ru", "tr")
    }


def test_without_data_and_network_the_error_says_what_to_do(no_data):
    with pytest.raises(DataError, match=r"WikiQA \(test\): .*fetching is off") as caught:
        mteb.get_task("WikiQA").load_data()
    assert "MTEB_EXT_DATA" in str(caught.value)
    assert caught.value.__cause__ is None  # one traceback, not a chain of them
    assert caught.value.__context__ is None


def test_every_split_has_its_facts():
    for task in TASKS.values():
        for split in task.splits():
            for subset in task.subsets(split):
                facts = task.facts(split, subset)
                assert facts.fingerprint
                if issubclass(task, PaperRanking):
                    assert facts.kept
                    assert facts.kept_rows


WITH_DEV = [name for name, task in TASKS.items() if "dev" in task.splits()]


@pytest.mark.parametrize("name", WITH_DEV)
def test_the_dev_split_runs_on_request_and_is_then_complete(name, no_data, tmp_path):
    task = mteb.get_task(f"{name}.sample", eval_splits=["dev"])
    cache = mteb.ResultCache(tmp_path)
    encoder = ToyEncoder(spread)
    result = mteb.evaluate(encoder, task, cache=cache, encode_kwargs=dict(QUIET)).task_results[0]
    assert list(result.scores) == ["dev"]
    assert set(result.hf_subsets) == set(task.hf_subsets)
    assert result.get_missing_evaluations(task) == {}
    assert np.isfinite(result.get_score(["dev"]))
    encoder.seen.clear()
    mteb.evaluate(encoder, task, cache=cache, encode_kwargs=dict(QUIET))
    assert not encoder.seen


@pytest.mark.slow
def test_wmts_dev_split_has_the_language_pairs_of_the_training_data(no_data):
    dev = mteb.get_task("WMT17Metrics.sample", eval_splits=["dev"])
    assert dev.hf_subsets == ["cs-en", "de-en", "fi-en", "ru-en", "tr-en"]
    chosen = mteb.get_task(
        "WMT17Metrics.sample", eval_splits=["dev"], hf_subsets=["tr-en", "lv-en"]
    )
    assert chosen.hf_subsets == ["tr-en"]
    both = mteb.get_task("WMT17Metrics.sample", eval_splits=["dev", "test"])
    assert len(both.hf_subsets) == 7
    result = mteb.evaluate(ToyEncoder(spread), both, cache=None, encode_kwargs=dict(QUIET))
    scores = result.task_results[0].scores
    assert [len(scores[split]) for split in ("dev", "test")] == [5, 7]
    assert set(load_dataset("WMT17Metrics.sample", "dev")["subset"]) == {*dev.hf_subsets, "ro-en"}


def test_a_subset_that_the_split_has_not_is_an_error(no_data):
    task = mteb.get_task("WMT17Metrics.sample", eval_splits=["dev"], hf_subsets=["lv-en"])
    with pytest.raises(
        DataError, match=r"\(dev, lv-en\): this split has no such subset; it has cs"
    ):
        task.load_data()


def test_wmts_files_of_one_set_have_one_length(monkeypatch, tmp_path):
    copy = tmp_path / "samples"
    shutil.copytree(sources.samples_folder(), copy)
    monkeypatch.setattr(sources, "samples_folder", lambda: copy)
    # One line too few in one file and one too many in another: the totals are equal.
    for year, name, text in (
        ("15", "newstest2015", "One line more.\n"),
        ("16", "DAseg-newstest2016", ""),
    ):
        file = copy / f"da-wmt{year}/cs-en/{name}.reference.cs-en"
        lines = file.read_text("utf-8")
        file.write_text(lines + text if text else lines[: lines[:-1].rindex("\n") + 1], "utf-8")
    with pytest.raises(DataError, match=r"reference.cs-en.* have 29, 28 and 28 lines"):
        load_dataset("WMT17Metrics.sample", "train", subset="cs-en")


def test_trecqas_dev_split_has_candidates_of_at_most_40_tokens(no_data):
    dev = load_dataset("TRECQA.sample", "dev", raw=True)
    lengths = [len(text.split()) for text in dev["candidate"]]
    assert max(lengths) == 40
    read = readers.read_json_questions(sources.samples_folder() / "trec-qa/dev.jsonl")
    long = [text for question in read for text in question.candidates if len(text.split()) > 40]
    assert len(dev) + len(long) == sum(map(len, read))
    assert len(long) == 1
    kept = load_dataset("TRECQA.sample", "dev")
    assert "<num>" in " ".join(kept["candidate"])


def pairs(*rows):
    return Pairs([a for a, _, _ in rows], [b for _, b, _ in rows], [s for _, _, s in rows])


def test_the_part_that_jacsts_script_reads():
    from mteb_ext.tasks.jacsts import _membership

    whole = pairs(("a", "b", 1.0), (" a", "b\u3000", 2.0), ("c", "d", 5.0), ("c", "d", 5.0))
    assert _membership(whole, pairs(("c", "d", 5.0), ("a", "b", 2.0))) == [False, True, True, False]
    assert _membership(whole, pairs(("c", "d", 5.0), ("c", "d", 5.0))) == [False, False, True, True]
    for wrong in (("a", "b", 3.0), ("a", "B", 1.0), ("b", "a", 1.0)):
        with pytest.raises(DataError, match=r"JAC-sts-test\.csv, line 2: .* no partner"):
            _membership(whole, pairs(("a", "b", 1.0), wrong))
    with pytest.raises(DataError, match=r"line 1: .* no partner"):
        _membership(whole, pairs(*[("c", "d", 5.0)] * 3))


def test_the_samples_part_of_jacsts(no_data):
    content, _ = paper_task("JACSTS.sample").load("test")
    assert (len(content), sum(content.parts["3482"])) == (30, 26)


def test_qabot_has_one_prompt_for_both_sides():
    assert TASKS["QABot"].protocol.symmetric
    assert isinstance(TASKS["QABot"].metadata.prompt, str)


def test_qabots_answers_appear_nowhere(tmp_path, monkeypatch, caplog, capsys):
    """Not in what is loaded, given to a model, written or said."""
    write_qabot(tmp_path / "data", candidates=[20] * 4, relevant=[1] * 4)
    monkeypatch.setenv("MTEB_EXT_DATA", str(tmp_path / "data"))
    facts = {"test": QuestionFacts(questions=4, rows=80, relevant=4, fingerprint="0" * 64)}
    protocol = replace(TASKS["QABot"].protocol, facts=facts)
    monkeypatch.setattr(TASKS["QABot"], "protocol", protocol)
    model = ToyEncoder(spread)
    mteb.evaluate(
        model,
        mteb.get_task("QABot"),
        cache=mteb.ResultCache(tmp_path / "results"),
        prediction_folder=tmp_path / "predictions",
        encode_kwargs=dict(QUIET),
    )
    rows = load_dataset("QABot", raw=True).to_pandas().to_csv()
    written = [p for p in tmp_path.rglob("*") if p.is_file() and "data" not in p.parts]
    assert len(written) >= 3
    everything = [*model.seen, rows, caplog.text, *capsys.readouterr()]
    everything += [path.read_text("utf-8") for path in written]
    assert "候補" in "".join(everything)
    assert not any("秘密" in text for text in everything)


@pytest.mark.parametrize(
    ("benchmark", "tasks"),
    [
        ("JapaneseSTSIR", ["JACSTS", "QABot"]),
        ("TANDA-AS2", ["WikiQA", "TRECQA"]),
        ("SemEval2017-STS", ["STS17SemEval", "STS17SemEvalTurkish", "STSBenchmarkSemEval"]),
        ("WMT17-Metrics", ["WMT17Metrics", "WMT17MetricsQE"]),
    ],
)
def test_a_benchmark_holds_its_papers_tasks(benchmark, tasks):
    found = mteb.get_benchmark(benchmark).tasks
    assert {task.metadata.name for task in found} >= set(tasks)
    assert all(isinstance(task, PaperTask) for task in found)


def test_the_benchmark_of_all_tasks():
    names = [task.metadata.name for task in mteb.get_benchmark("mteb-ext").tasks]
    assert sorted(names) == sorted(TASKS)


@pytest.mark.slow
def test_a_benchmark_gives_mtebs_own_result_table(tmp_path, no_data):
    names = ["STS17SemEval.sample", "WikiQA.sample"]
    cache = mteb.ResultCache(tmp_path)
    benchmark = mteb.Benchmark(name="mine", tasks=mteb.get_tasks(tasks=names))
    mteb.evaluate(mteb.get_model("mteb-ext/token-cosine"), benchmark, cache=cache)
    frame = cache.load_results(tasks=benchmark, include_remote=False).to_dataframe()
    assert set(frame["task_name"]) == set(names)


def test_every_task_is_sts_or_ranking():
    assert all(issubclass(task, (PaperSTS, PaperRanking)) for task in TASKS.values())
