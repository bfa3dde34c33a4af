"""The recipes in scripts/recipes, on made-up data whose rule a tiny random model can learn."""

from __future__ import annotations

import importlib
import random
import shlex
import sys
from pathlib import Path
from types import SimpleNamespace

import mteb
import numpy as np
import pytest
from stock_tasks import metadata

import mteb_ext
from mteb_ext import cli
from mteb_ext.bases import PaperRanking, PaperSTS
from mteb_ext.data.records import Pairs, Question
from mteb_ext.data.sources import SampleFiles
from mteb_ext.errors import DataError
from mteb_ext.protocol import (
    CorrelationProtocol,
    PairFacts,
    QuestionFacts,
    QuestionFilter,
    RankingProtocol,
)

pytestmark = pytest.mark.models

RECIPES = Path(__file__).parents[1] / "scripts" / "recipes"
PLAIN = [f"plain{i}" for i in range(30)]
ANSWERS = [f"answer{i}" for i in range(5)]
FACTS = QuestionFacts(questions=1, rows=1, relevant=1, kept=1, kept_rows=1, fingerprint="")


def questions(n, seed, with_answers=True):
    """Of four candidates one is relevant; it alone holds one of five words, or nothing tells."""
    rng = random.Random(seed)
    made = []
    for number in range(n):
        texts = [" ".join(rng.choices(PLAIN, k=4)) for _ in range(4)]
        relevant = rng.randrange(4)
        if with_answers:
            texts[relevant] += " " + rng.choice(ANSWERS)
        ids = [f"{number}-{i}" for i in range(4)]
        labels = [int(i == relevant) for i in range(4)]
        made.append(Question(str(number), "which plain0", ids, texts, labels))
    return made


class MadeUpRanking(PaperRanking):
    protocol = RankingProtocol(
        headline="map",
        source="made up",
        keep=QuestionFilter.ANSWERED,
        facts=dict.fromkeys(("train", "dev", "test"), FACTS),
    )
    source = SampleFiles()


class MadeUpSource(MadeUpRanking):
    metadata = metadata("MadeUpSource", "Reranking", "map")

    @classmethod
    def read(cls, source, split, subset):
        return questions(60, seed=1)


class MadeUpTarget(MadeUpRanking):
    """Its few training questions say nothing of the rule by which dev and test are made."""

    metadata = metadata("MadeUpTarget", "Reranking", "map")

    @classmethod
    def read(cls, source, split, subset):
        if split == "train":
            return questions(10, seed=2, with_answers=False)
        return questions(40, seed={"dev": 3, "test": 4}[split])


class MadeUpPairs(PaperSTS):
    """The score of a pair counts good and bad words in its second text; 1.5 is a good one."""

    metadata = metadata("MadeUpPairs", "STS", "pearson")
    protocol = CorrelationProtocol(
        headline="pearson",
        source="made up",
        facts={split: {"default": PairFacts(1, "")} for split in ("train", "dev", "test")},
    )
    source = SampleFiles()

    @classmethod
    def read(cls, source, split, subset):
        rng = random.Random({"train": 1, "dev": 2, "test": 3}[split])
        pairs = Pairs([], [], [])
        for _ in range(200 if split == "train" else 60):
            words = rng.choices([*PLAIN[:4], "good", "bad"], k=5)
            pairs.sentence1.append("plain0 plain1")
            pairs.sentence2.append(" ".join(words))
            pairs.score.append(1.5 * (words.count("good") - words.count("bad")))
        return pairs


@pytest.fixture(scope="module")
def recipes():
    """The scripts, imported when a test runs them: they take sentence-transformers' trainers."""
    pytest.importorskip("accelerate")
    sys.path.insert(0, str(RECIPES))
    names = ("common", "contrastive_adaptation", "pair_regressor", "transfer_and_adapt")
    yield SimpleNamespace(**{name: importlib.import_module(name) for name in names})
    sys.path.remove(str(RECIPES))


@pytest.fixture(autouse=True)
def made_up_tasks(monkeypatch):
    registry = vars(sys.modules["mteb.get_tasks"])["_TASKS_REGISTRY"]
    for task in (MadeUpSource, MadeUpTarget, MadeUpPairs):
        monkeypatch.setitem(registry, task.metadata.name, task)


def recipe(module, folder, *options):
    return module.main(["--tiny", "--device", "cpu", "--output", str(folder), *options])


def made_up_transfer(recipes, folder, *options):
    return recipe(
        recipes.transfer_and_adapt,
        folder,
        *("--source", "MadeUpSource", "--target", "MadeUpTarget", "--learning-rate", "1e-3"),
        *options,
    )


def test_what_the_transfer_learns_is_there_after_the_adaptation(recipes, tmp_path):
    folder = made_up_transfer(recipes, tmp_path, "--epochs", "4")
    assert folder.name == "adapted-MadeUpSource-MadeUpTarget-noise0-seed1"
    chance = (1 + 1 / 2 + 1 / 3 + 1 / 4) / 4
    model = mteb_ext.load_model(folder)
    assert recipes.common.score(model, "MadeUpTarget", "dev", 32) > 0.95
    assert recipes.common.score(model, "MadeUpTarget", "test", 32) > 0.95
    baseline = made_up_transfer(recipes, tmp_path, "--epochs", "4", "--skip-transfer")
    assert baseline.name == "baseline-MadeUpTarget-noise0-seed1"
    baseline_model = mteb_ext.load_model(baseline)
    assert recipes.common.score(baseline_model, "MadeUpTarget", "test", 32) < chance + 0.15


@pytest.fixture
def trainings(recipes, monkeypatch):
    """What each training was given, in place of training."""
    seen = []

    def train(model, data, loss, folder, options, evaluator=None):
        model.save_pretrained(str(folder))
        (folder / "trainer_state.json").write_text("{}")
        seen.append((data.to_dict(), folder.name, options, evaluator))

    for module in (
        recipes.transfer_and_adapt,
        recipes.pair_regressor,
        recipes.contrastive_adaptation,
    ):
        monkeypatch.setattr(module, "train", train)
    return seen


def test_label_noise_is_the_targets_alone(recipes, tmp_path, trainings):
    made_up_transfer(recipes, tmp_path, "--label-noise", "0.2", "--seed", "7")
    stage_one, stage_two = trainings
    assert stage_one[1] == "transferred-MadeUpSource-seed7"
    assert stage_two[1] == "adapted-MadeUpSource-MadeUpTarget-noise20-seed7"
    assert [s[3].task for s in trainings] == ["MadeUpTarget", "MadeUpTarget"]
    assert stage_one[0]["label"] == mteb_ext.load_dataset("MadeUpSource", "train")["label"][:]
    clean = mteb_ext.load_dataset("MadeUpTarget", "train")["label"][:]
    switched = [a != b for a, b in zip(clean, stage_two[0]["label"], strict=True)]
    assert sum(switched) == 8  # of 40


@pytest.mark.parametrize(
    ("options", "rates", "steps"),
    [
        ((), [2e-5, 1e-6], [-1, -1]),  # the authors'
        (("--skip-transfer",), [2e-5], [-1]),
        (("--transfer-rate", "3", "--learning-rate", "4"), [3, 4], [-1, -1]),
        (("--transfer-steps", "5", "--max-steps", "6"), [2e-5, 1e-6], [5, 6]),
    ],
)
def test_each_stage_has_its_own_rate_and_steps(
    recipes, tmp_path, minilm_folder, trainings, options, rates, steps
):
    tasks = ["--source", "MadeUpSource", "--target", "MadeUpTarget"]
    model = ["--model", str(minilm_folder), "--layers", "1", "--output", str(tmp_path)]
    recipes.transfer_and_adapt.main([*tasks, *model, *options])
    assert [s[2].learning_rate for s in trainings] == rates
    assert [s[2].max_steps for s in trainings] == steps


def test_asnq_that_is_not_there_is_one_sentence(recipes, no_data):
    with pytest.raises(DataError, match=r"asnq/train\.tsv does not exist"):
        recipe(recipes.transfer_and_adapt, no_data, "--source", "ASNQ")
    with pytest.raises(SystemExit, match=r"^.*asnq/train\.tsv does not exist\. ASNQ is not fetch"):
        recipes.common.run(lambda: recipe(recipes.transfer_and_adapt, no_data, "--source", "ASNQ"))


def test_the_regressor_learns_a_made_up_score(recipes, tmp_path):
    folder = recipe(recipes.pair_regressor, tmp_path, "--target", "MadeUpPairs")
    model = mteb_ext.load_model(folder)
    assert recipes.common.score(model, "MadeUpPairs", "test", 32) > 0.9
    good, bad = model.model.predict([("plain0", "good good plain1"), ("plain0", "bad bad plain1")])
    assert good > 1.5  # no sigmoid squashes it
    assert bad < -1.5


def test_a_stopped_training_goes_on_from_its_checkpoint(recipes, tmp_path, monkeypatch):
    options = ("--skip-transfer", "--epochs", "2")
    folder = made_up_transfer(recipes, tmp_path, *options)
    weights = (folder / "model.safetensors").read_bytes()
    steps = []
    forward = recipes.transfer_and_adapt.BinaryCrossEntropyLoss.forward

    def counting(self, *arguments, **kwargs):
        steps.append(1)
        return forward(self, *arguments, **kwargs)

    monkeypatch.setattr(recipes.transfer_and_adapt.BinaryCrossEntropyLoss, "forward", counting)
    assert made_up_transfer(recipes, tmp_path, *options) == folder
    assert not steps  # it is finished
    (folder / "trainer_state.json").unlink()
    (folder / "model.safetensors").unlink()
    [first, last] = sorted(folder.glob("checkpoint-*"), key=lambda path: int(path.name[11:]))
    assert (first.name, last.name) == ("checkpoint-5", "checkpoint-10")
    for file in last.iterdir():
        file.unlink()
    last.rmdir()
    made_up_transfer(recipes, tmp_path, *options)
    assert len(steps) == 5
    assert (folder / "model.safetensors").read_bytes() == weights


def test_dev_chooses_the_model_and_stops_the_training(recipes, tmp_path, monkeypatch):
    asked, scores = [], iter([0.9, 0.1, 0.3, 0.2])

    def score(model, task, split, batch_size):
        asked.append((task, split))
        return next(scores)

    monkeypatch.setattr(recipes.common, "score", score)
    options = ("--skip-transfer", "--epochs", "6", "--evaluations", "6")
    folder = made_up_transfer(recipes, tmp_path, *options)
    assert asked == [("MadeUpTarget", "dev")] * 4  # three without a better one
    best, last = (folder / f"checkpoint-{step}" / "model.safetensors" for step in (5, 20))
    assert (folder / "model.safetensors").read_bytes() == best.read_bytes() != last.read_bytes()


def test_a_triple_exchanges_the_longest_run_of_one_script(recipes):
    made = recipes.contrastive_adaptation.triples(
        ["肺炎がある", "今日はアスピリン", "骨折 X", "ひらがな", "骨折 X", "とてもワルファリン"],
        seed=1,
    )
    rows = list(zip(*(made[name][:] for name in ("sent0", "sent1", "hard_neg")), strict=True))
    kanji = {"肺炎": {"今日", "骨折"}, "骨折": {"肺炎", "今日"}}
    assert [row[0] for row in rows] == [
        *("肺炎がある", "今日はアスピリン", "骨折 X", "とてもワルファリン"),
    ]
    assert all(sent0 == sent1 for sent0, sent1, _ in rows)
    assert rows[0][2] in {f"{other}がある" for other in kanji["肺炎"]}
    assert rows[1][2] == "今日はワルファリン"
    assert rows[2][2] in {f"{other} X" for other in kanji["骨折"]}
    assert rows[3][2] == "とてもアスピリン"
    with pytest.raises(SystemExit, match="no triple can be made"):
        recipes.contrastive_adaptation.triples(["ひらがな", "骨折"], seed=1)


def test_contrastive_adaptation_moves_hard_negatives_away(recipes, tmp_path):
    rng = random.Random(1)
    rows = [(" ".join(rng.choices(PLAIN, k=5)), rng.choice(ANSWERS)) for _ in range(60)]
    lines = [f"{t} good,{t} good,{t} {answer}" for t, answer in rows]
    (tmp_path / "triples.csv").write_text("\n".join(["sent0,sent1,hard_neg", *lines]))
    options = ("--triples", str(tmp_path / "triples.csv"), "--epochs", "3")
    folder = recipe(recipes.contrastive_adaptation, tmp_path, *options)
    assert folder.name == "contrastive-JACSTS.sample-seed1"
    before = cosines(tmp_path / "tiny-seed1", rows)
    after = cosines(folder, rows)
    assert after < before - 0.2


def cosines(folder, rows):
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(folder), device="cpu")
    first = model.encode([f"{text} good" for text, _ in rows], normalize_embeddings=True)
    second = model.encode([f"{text} {answer}" for text, answer in rows], normalize_embeddings=True)
    return float(np.mean((first * second).sum(axis=1)))


def test_the_command_that_a_recipe_prints_evaluates_its_model(
    recipes, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    recipe(recipes.transfer_and_adapt, Path("runs"), "--skip-transfer", "--epochs", "1")
    printed = capsys.readouterr().out
    program, *arguments = shlex.split(printed[printed.index("mteb-ext run") :].replace("\\\n", ""))
    assert program == "mteb-ext"
    assert cli.main(arguments) in {None, 0}
    [file] = (tmp_path / "results").rglob("WikiQA.sample.json")
    assert file.parents[1].name == "recipes__baseline-WikiQA.sample-noise0"
    assert set(mteb.TaskResult.from_disk(file).scores) == {"dev", "test"}


def test_a_run_that_was_begun_with_other_options_is_not_taken_for_this_one(
    recipes, tmp_path, trainings
):
    made_up_transfer(recipes, tmp_path)
    noisy = made_up_transfer(recipes, tmp_path, "--label-noise", "0.2")  # stage one is shared
    assert [name for _, name, _, _ in trainings] == [
        "transferred-MadeUpSource-seed1",
        "adapted-MadeUpSource-MadeUpTarget-noise0-seed1",
        noisy.name,
    ]
    with pytest.raises(SystemExit, match=r"transferred-MadeUpSource-seed1 was begun with epochs 8"):
        made_up_transfer(recipes, tmp_path, "--epochs", "3")
    assert len(trainings) == 3
