"""mteb's own task classes on made-up rows, and prediction files as mteb writes them."""

from __future__ import annotations

import json

from datasets import Dataset
from mteb.abstasks.retrieval import AbsTaskRetrieval
from mteb.abstasks.sts import AbsTaskSTS
from mteb.abstasks.task_metadata import TaskMetadata


def write_predictions(folder, task, scores, *, model="test/a", revision="1", data=None):
    """Write a prediction file as mteb does, and ours with the data's revision."""
    folder.mkdir(parents=True, exist_ok=True)
    meta = {"mteb_model_meta": {"model_name": model, "revision": revision}}
    ours = {"mteb_ext": {"dataset_revision": data}} if data else {}
    path = folder / f"{task}_predictions.json"
    path.write_text(json.dumps({**meta, **ours, **scores}))
    return path


def metadata(name, kind, main_score):
    return TaskMetadata(
        name=name,
        description="Made-up rows.",
        reference=None,
        dataset={"path": "nowhere", "revision": "1"},
        type=kind,
        category="t2t",
        eval_splits=["test"],
        eval_langs=["eng-Latn"],
        main_score=main_score,
    )


class StockSTS(AbsTaskSTS):
    metadata = metadata("StockSTS", "STS", "cosine_spearman")

    def load_data(self, **kwargs):
        pairs = {"sentence1": list("abcd"), "sentence2": list("efgh"), "score": [0, 1, 2, 5]}
        self.dataset = dict.fromkeys(("dev", "test"), Dataset.from_dict(pairs))
        self.data_loaded = True


QRELS = {"q1": {"d1": 2, "d2": 1, "d4": 0}, "q2": {"d3": 1, "d9": 1}, "q3": {"d1": 0}}


class StockRetrieval(AbsTaskRetrieval):
    metadata = metadata("StockRetrieval", "Retrieval", "ndcg_at_10")
    top_ranked = None

    def load_data(self, **kwargs):
        texts = [f"d{i}" for i in range(1, 10)]
        self.dataset = {
            "default": {
                "test": {
                    "corpus": Dataset.from_dict({"id": texts, "text": texts}),
                    "queries": Dataset.from_dict({"id": list(QRELS), "text": list(QRELS)}),
                    "relevant_docs": QRELS,
                    "top_ranked": None,
                }
            }
        }
        self.data_loaded = True


class StockSubsets(AbsTaskRetrieval):
    """Two subsets, of one query and of three."""

    metadata = metadata("StockSubsets", "Reranking", "mrr_at_10").model_copy(
        update={"eval_langs": {"x": ["eng-Latn"], "y": ["eng-Latn"]}}
    )

    def load_data(self, **kwargs):
        self.dataset = {
            subset: {"test": {"relevant_docs": qrels, "top_ranked": None}}
            for subset, qrels in SUBSET_QRELS.items()
        }
        self.data_loaded = True


SUBSET_QRELS = {"x": {"q1": {"d1": 1}}, "y": {f"q{i}": {"d1": 1} for i in (1, 2, 3)}}

TASKS = (StockSTS, StockRetrieval, StockSubsets)
