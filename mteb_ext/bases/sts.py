"""PaperSTS: semantic textual similarity by a paper's protocol."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
from datasets import Dataset, DatasetDict
from mteb.abstasks.sts import AbsTaskSTS

from mteb_ext.bases.task import DEFAULT_SUBSET, PaperTask, errors_named, interval_scores
from mteb_ext.context import Call
from mteb_ext.data.records import Pairs
from mteb_ext.data.sources import Source
from mteb_ext.errors import DataError, ProtocolError, UndefinedMetricError
from mteb_ext.metrics import correlation, significance
from mteb_ext.protocol import CorrelationProtocol, PairFacts
from mteb_ext.proxy import ProtocolModel, Texts

if TYPE_CHECKING:
    from mteb.models import MTEBModels
    from mteb.timing import TimingStack
    from mteb.types import EncodeKwargs, PromptType
    from numpy.typing import NDArray

_Scored: TypeAlias = "tuple[NDArray[np.float64], NDArray[np.float64]]"  # similarity and gold

COEFFICIENTS = {"pearson": correlation.pearson, "spearman": correlation.spearman}


class PaperSTS(PaperTask, AbsTaskSTS):
    """An STS task: the protocol's correlation of cosine similarity (or a cross-encoder's) and gold.

    Scores of a subset: ``pearson`` and ``spearman``; for encoders ``cosine_pearson`` and
    ``cosine_spearman``, which equal them because the protocol's similarity is the cosine;
    ``ci95_low`` and ``ci95_high``, the 95% interval of the main score; the main coefficient by
    genre, where the data has genres. A task of several subsets adds ``headline_ci95_low`` and
    ``headline_ci95_high``, the interval of their mean, to the subset that completes it.
    """

    protocol: ClassVar[CorrelationProtocol]
    _task_types = ("STS",)

    @classmethod
    @abstractmethod
    def read(cls, source: Source, split: str, subset: str) -> Pairs:
        """Read the pairs of one split and subset.

        Raises:
            DataError: If a file is missing or damaged.
        """

    @classmethod
    def _check_definition(cls) -> None:
        super()._check_definition()
        for split, facts in cls.protocol.facts.items():
            if split in cls.metadata.eval_splits and set(facts) != set(cls.metadata.hf_subsets):
                raise ProtocolError(
                    f"{cls.metadata.name}: the subsets {cls.metadata.hf_subsets} are not the ones "
                    f"that the headline averages ({', '.join(facts)})."
                )

    @classmethod
    def subsets(cls, split: str) -> list[str]:
        """The subsets of a split."""
        return list(cls.protocol.facts.get(split, [DEFAULT_SUBSET]))

    @classmethod
    def _facts(cls, split: str, subset: str) -> PairFacts:
        facts = cls.protocol.facts[split]
        if subset not in facts:
            raise DataError(f"this split has no such subset; it has {', '.join(facts)}.")
        return facts[subset]

    @property
    def hf_subsets(self) -> list[str]:
        """The chosen subsets that one of the chosen splits has (dev may have fewer than test).

        Where no split has any of them, they are returned as they are: loading them names the fault.
        """
        present = {subset for split in self.eval_splits for subset in self.subsets(split)}
        return [name for name in self._chosen if name in present] or self._chosen

    @hf_subsets.setter
    def hf_subsets(self, subsets: list[str]) -> None:
        self._chosen = subsets

    def evaluate(
        self,
        model: MTEBModels,
        split: str = "test",
        subsets_to_run: list[str] | None = None,
        **kwargs: Any,
    ) -> Mapping[str, Any]:
        """Evaluate the subsets that the split has."""
        chosen = self.hf_subsets if subsets_to_run is None else subsets_to_run
        present = [subset for subset in chosen if subset in self.subsets(split)]
        return super().evaluate(model, split, present, **kwargs)

    def _load_splits(self) -> set[str]:
        revisions = set()
        loaded: dict[str, DatasetDict] = {}
        for subset in self.hf_subsets:
            loaded[subset] = DatasetDict()
            with_it = [split for split in self.eval_splits if subset in self.subsets(split)]
            for split in with_it or self.eval_splits:
                pairs, revision = self.load(split, subset)
                loaded[subset][split] = pairs_to_dataset(pairs)
                revisions.add(revision)
        # mteb keeps a task without subsets one level flatter.
        self.dataset = loaded if self.metadata.is_multilingual else loaded[DEFAULT_SUBSET]
        self._scored: dict[str, dict[str, tuple[object, _Scored]]] = {}
        return revisions

    def _evaluate_subset(  # type: ignore[override]
        self,
        model: MTEBModels,
        data_split: Dataset,
        *,
        encode_kwargs: EncodeKwargs,
        hf_split: str,
        hf_subset: str,
        prediction_folder: Path | None = None,
        num_proc: int | None = None,
        timer: TimingStack,
        **kwargs: Any,
    ) -> dict[str, float]:
        with errors_named(self.metadata.name, hf_split, hf_subset):
            self._check_prediction_folder(model, prediction_folder, hf_split, hf_subset)
            scorer = ProtocolModel(  # AbsTask.evaluate has turned search models away
                model,  # type: ignore[arg-type]
                Call(self.metadata, hf_split, hf_subset),
                encode_kwargs,
                num_proc,
            )
            with timer("Scoring pairs", split=hf_split, subset=hf_subset):
                similarity = scorer.score_pairs(
                    _side(data_split, "sentence1", self.input1_prompt_type),
                    _side(data_split, "sentence2", self.input2_prompt_type),
                )
            if prediction_folder:
                key = "cosine_scores" if scorer.is_encoder else "similarity_scores"
                self._save_task_predictions(
                    {key: similarity.tolist()}, model, prediction_folder, hf_split, hf_subset
                )
            with timer("Computing metrics", split=hf_split, subset=hf_subset):
                scores = self._correlations(similarity, data_split, scorer)
                return scores | self._headline_interval(
                    model, (similarity, _gold(data_split)), hf_split, hf_subset
                )

    def _correlations(
        self, similarity: NDArray[np.float64], data_split: Dataset, scorer: ProtocolModel
    ) -> dict[str, float]:
        gold = _gold(data_split)
        try:
            scores = {
                "pearson": correlation.pearson(similarity, gold),
                "spearman": correlation.spearman(scorer.for_ranks(similarity), gold),
            }
        except UndefinedMetricError as error:
            raise UndefinedMetricError(
                f"no correlation is defined: {error} (x: the model's scores, y: gold). A model "
                "that scores all pairs alike has collapsed, or was not loaded: look at its output."
            ) from error
        if scorer.is_encoder:
            scores |= {f"cosine_{name}": value for name, value in scores.items()}
        method = self.protocol.headline
        scores |= interval_scores(
            "ci95", lambda: significance.correlation_interval(similarity, gold, method)
        )
        return scores | self._by_genre(similarity, gold, data_split)

    def _by_genre(
        self, similarity: NDArray[np.float64], gold: NDArray[np.float64], data_split: Dataset
    ) -> dict[str, float]:
        if "genre" not in data_split.column_names:
            return {}
        genres = np.array(data_split["genre"])
        scores = {}
        for genre in dict.fromkeys(genres.tolist()):
            here = genres == genre
            try:
                value = COEFFICIENTS[self.protocol.headline](similarity[here], gold[here])
            except UndefinedMetricError:
                continue  # a genre in which the scores are constant has no coefficient
            scores[f"{self.protocol.headline}_{genre}"] = value
        return scores

    def _headline_interval(
        self, model: object, scored: _Scored, split: str, subset: str
    ) -> dict[str, float]:
        """The interval of the subsets' mean, once one run has evaluated all of them."""
        by_subset = self._scored.setdefault(split, {})
        if subset in by_subset or any(other is not model for other, _ in by_subset.values()):
            by_subset.clear()  # another run on the same task object
        by_subset[subset] = (model, scored)
        n_subsets = len(self.metadata.hf_subsets)
        if n_subsets == 1 or len(by_subset) < n_subsets:
            return {}
        parts, method = [scored for _, scored in by_subset.values()], self.protocol.headline
        by_subset.clear()
        return interval_scores(
            "headline_ci95", lambda: significance.mean_correlation_interval(parts, method)
        )


def pairs_to_dataset(pairs: Pairs) -> Dataset:
    """Pairs as a dataset: sentence1, sentence2, score, and genre where there are genres."""
    columns = {
        "sentence1": pairs.sentence1,
        "sentence2": pairs.sentence2,
        "score": pairs.score,
    }
    return Dataset.from_dict({**columns, "genre": pairs.genre} if pairs.genre else columns)


def _gold(data_split: Dataset) -> NDArray[np.float64]:
    return np.asarray(data_split["score"], dtype=np.float64)


def _side(data_split: Dataset, column: str, prompt_type: PromptType | None) -> Texts:
    return Texts(list(data_split[column]), prompt_type, lambda i: f"{column} of row {i}")
