"""PaperSTS: semantic textual similarity by a paper's protocol."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
from datasets import Dataset, DatasetDict
from mteb.abstasks.sts import AbsTaskSTS
from mteb.models import CrossEncoderProtocol, EncoderProtocol

from mteb_ext.bases.task import DEFAULT_SUBSET, PaperTask, column, errors_named, interval_scores
from mteb_ext.data.checks import fingerprint
from mteb_ext.data.records import Pairs, Segment
from mteb_ext.data.sources import Source
from mteb_ext.encoding import Call, Scorer, Texts
from mteb_ext.errors import DataError, NotApplicableError, ProtocolError, UndefinedMetricError
from mteb_ext.measures import Coefficient, Measure
from mteb_ext.metrics import correlation, significance
from mteb_ext.protocol import CorrelationProtocol, PairFacts

if TYPE_CHECKING:
    from mteb.models import MTEBModels
    from mteb.timing import TimingStack
    from mteb.types import EncodeKwargs, PromptType
    from numpy.typing import NDArray

    from mteb_ext.encoding.output import Float

_Scored: TypeAlias = "tuple[Float, Float]"  # similarity and gold

PART = "in_"  # begins the name of a column that says whether a pair is in a named part
COEFFICIENTS: Mapping[Coefficient, Callable[[Float, Float], float]] = {
    "pearson": correlation.pearson,
    "spearman": correlation.spearman,
}


class PaperSTS(PaperTask, AbsTaskSTS):
    """An STS task: the protocol's correlation of cosine similarity (or a cross-encoder's) and gold.

    Scores of a subset: ``pearson`` and ``spearman``; for encoders ``cosine_pearson`` and
    ``cosine_spearman``, which equal them because the protocol's similarity is the cosine;
    ``ci95_low`` and ``ci95_high``, the 95% interval of the main score; the main coefficient by
    genre, where the data has genres; ``pearson_NAME`` and ``spearman_NAME`` of named parts of the
    pairs. A task of several subsets adds ``headline_ci95_low`` and ``headline_ci95_high``, the
    interval of their mean, to the subset that completes it. See also :attr:`Scorer.remarks`.
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
    def segments(cls, source: Source, split: str, subset: str) -> list[Segment] | None:
        """Which translation each row is about; None where rows are known by their places only.

        Raises:
            DataError: If a file is missing or damaged.
        """
        return None

    @classmethod
    def subsets(cls, split: str) -> list[str]:
        """The subsets of a split."""
        return list(cls.protocol.facts.get(split, [DEFAULT_SUBSET]))

    @classmethod
    def parts(cls, split: str, subset: str) -> list[str]:
        """The genres and named parts that the protocol counts the pairs of."""
        facts = cls.facts(split, subset)
        return [*(facts.genres or {}), *facts.parts]

    @classmethod
    def facts(cls, split: str, subset: str) -> PairFacts:
        """Give what the protocol says of the rows of a split and subset."""
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
        """Evaluate the subsets that the split has.

        Raises:
            ProtocolError: If the model is neither encoder nor cross-encoder.
            NotApplicableError: If the model ranks documents and scores no pairs.
        """
        if not isinstance(model, (EncoderProtocol, CrossEncoderProtocol)):
            raise _unfit(model, self.metadata.name)
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
                self.fingerprints[f"{split}/{subset}"] = fingerprint(pairs)
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
    ) -> dict[str, float | str]:
        with errors_named(self.metadata.name, hf_split, hf_subset):
            self._check_prediction_folder(model, prediction_folder, hf_split, hf_subset)
            call = Call(self.metadata, hf_split, hf_subset)
            scorer = Scorer(model, call, encode_kwargs, num_proc)  # type: ignore[arg-type]
            self._remark(scorer.remarks, hf_subset)
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
                gold = _gold(data_split)
                scores = self._pair_scores(similarity, data_split, is_encoder=scorer.is_encoder)
                scores |= self._headline_interval(model, (similarity, gold), hf_split, hf_subset)
                return scores | scorer.remarks

    def rescore(self, split: str, subset: str, predicted: Any) -> dict[str, float | str]:  # noqa: ANN401
        """See :meth:`PaperTask.rescore`."""
        dataset: Any = self.dataset
        data_split = (dataset[subset] if self.metadata.is_multilingual else dataset)[split]
        [(key, similarity)] = predicted.items()
        is_encoder = key == "cosine_scores"
        return self._pair_scores(np.array(similarity), data_split, is_encoder=is_encoder)

    def _pair_scores(
        self, similarity: Float, data_split: Dataset, *, is_encoder: bool
    ) -> dict[str, float | str]:
        scores = self._correlations(similarity, _gold(data_split), data_split)
        if is_encoder:  # the names under which mteb's own tables look
            scores |= {str(Measure(n, similarity="cosine")): scores[n] for n in COEFFICIENTS}
        return scores

    def _correlations(
        self, similarity: Float, gold: Float, data_split: Dataset
    ) -> dict[str, float | str]:
        headline = self.protocol.headline
        try:
            scores: dict[str, float | str] = _coefficients(similarity, gold, COEFFICIENTS)
        except UndefinedMetricError as error:
            raise UndefinedMetricError(
                f"no correlation is defined: {error} (x: the model's scores, y: gold). A model "
                "that scores all pairs alike has collapsed, or was not loaded: look at its output."
            ) from error
        scores |= interval_scores(
            "ci95", lambda: significance.correlation_interval(similarity, gold, headline)
        )
        for part, here in parts_of(data_split).items():
            is_genre = PART + part not in data_split.column_names
            names = [headline] if is_genre else COEFFICIENTS
            with suppress(UndefinedMetricError):  # the scores of a part can be constant
                scores |= _coefficients(similarity[here], gold[here], names, part)
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


def _coefficients(
    similarity: Float, gold: Float, names: Iterable[Coefficient], part: str = ""
) -> dict[str, float | str]:
    return {str(Measure(name, part=part)): COEFFICIENTS[name](similarity, gold) for name in names}


def pairs_to_dataset(pairs: Pairs) -> Dataset:
    """Pairs as a dataset.

    Returns:
        Columns sentence1, sentence2, score; genre where there are genres; ``in_NAME`` for each
        named part.
    """
    columns: dict[str, list[Any]] = {
        "sentence1": pairs.sentence1,
        "sentence2": pairs.sentence2,
        "score": pairs.score,
        **({"genre": pairs.genre} if pairs.genre else {}),
        **{PART + name: rows for name, rows in pairs.parts.items()},
    }
    return Dataset.from_dict(columns)


def parts_of(data_split: Dataset) -> dict[str, NDArray[np.bool_]]:
    """The pairs that are reported by themselves: whether each pair is in a genre or named part."""
    parts: dict[str, NDArray[np.bool_]] = {}
    if "genre" in data_split.column_names:
        genres = column(data_split, "genre").to_numpy()
        parts = {genre: genres == genre for genre in dict.fromkeys(genres.tolist())}
    for name in data_split.column_names:
        if name.startswith(PART):
            parts[name.removeprefix(PART)] = column(data_split, name).to_numpy().astype(bool)
    return parts


def _gold(data_split: Dataset) -> Float:
    gold: Float = column(data_split, "score").to_numpy().astype(np.float64, copy=False)
    return gold


def _side(data_split: Dataset, name: str, prompt_type: PromptType | None) -> Texts:
    values = column(data_split, name)
    return Texts(values, np.arange(len(values)), prompt_type, lambda i: f"{name} of row {i}")


def _unfit(model: MTEBModels, task: str) -> ProtocolError:
    """Why a model cannot do an STS task."""
    name = model.mteb_model_meta.name
    if hasattr(model, "encode"):
        lacking = [m for m in ("similarity", "similarity_pairwise") if not hasattr(model, m)]
        return ProtocolError(
            f"{task}: {name} has encode, but lacks {' and '.join(lacking) or 'mteb_model_meta'}. "
            "Derive its class from mteb's AbsEncoder, which has them."
        )
    return NotApplicableError(
        f"{task}: {name} ranks documents and gives a pair of texts no score. An STS task takes "
        "encoders and cross-encoders; of this package's models, mteb-ext/token-cosine and "
        "mteb-ext/sentence-bleu."
    )
