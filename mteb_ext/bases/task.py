"""What the tasks of all papers share: definition checks, loading, verification."""

from __future__ import annotations

import logging
import sys
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, ClassVar

from mteb.abstasks import AbsTask
from mteb.timing import TimingStack

from mteb_ext.bases.metadata import PaperMetadata
from mteb_ext.data.checks import check_counts, check_fingerprint, check_records, fingerprint
from mteb_ext.data.records import Pairs, Question
from mteb_ext.data.sources import DataNotProvidedError, SampleFiles, Source, UpstreamFiles
from mteb_ext.errors import DataError, MtebExtError, ProtocolError, UndefinedMetricError
from mteb_ext.formats.predictions import check_predictions, write_predictions
from mteb_ext.metrics.significance import Interval
from mteb_ext.papers import Paper
from mteb_ext.protocol import (
    CorrelationProtocol,
    PairFacts,
    QuestionFacts,
    RankingProtocol,
)

if TYPE_CHECKING:
    import pyarrow as pa
    from datasets import Dataset
    from mteb.models import MTEBModels
    from mteb.types.statistics import DescriptiveStatistics

logger = logging.getLogger(__name__)

DEFAULT_SUBSET = "default"
SAMPLE_SUFFIX = ".sample"
UNVERIFIED = "unverified-"  # begins the dataset revision of another edition than the paper's


class PaperTask(AbsTask):
    """A task that follows a paper's protocol. Use :class:`PaperSTS` or :class:`PaperRanking`.

    Attributes:
        protocol: What the paper demands; set by every task.
        paper: The paper whose benchmark the task is part of; None where it is part of none.
        withheld: Why the data may not be passed on, where the licence in the metadata does not say
            so; else empty.
        ask_first: Whom to ask before the data is passed on, and why; empty if nobody.
        source: Where the files come from: upstream, or the bundled sample.
        editions_differ: Whether users may hold another edition of the data than the paper's. Its
            content is then used with a warning, and its fingerprint becomes the dataset revision of
            the result; otherwise another content is an error.
    """

    protocol: ClassVar[CorrelationProtocol | RankingProtocol]
    paper: ClassVar[Paper | None] = None
    withheld: ClassVar[str] = ""
    ask_first: ClassVar[str] = ""
    source: ClassVar[Source] = UpstreamFiles()
    editions_differ: ClassVar[bool] = False
    fingerprints: dict[str, str]

    _support_cross_encoder = True
    _task_types: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Reject a task whose metadata contradicts its protocol.

        Raises:
            ProtocolError: If it does.
        """
        super().__init_subclass__(**kwargs)
        if "metadata" not in vars(cls):
            return
        if not isinstance(cls.metadata, PaperMetadata):
            module = getattr(sys.modules.get(cls.__module__), "__file__", None)
            cls.metadata = PaperMetadata.at(Path(module or "").parent, cls.metadata)
        cls._check_definition()

    @classmethod
    def _check_definition(cls) -> None:
        name, metadata = cls.metadata.name, cls.metadata
        protocol = getattr(cls, "protocol", None)
        if protocol is None:
            raise ProtocolError(f"{name} states no protocol: set the class attribute 'protocol'.")
        if metadata.main_score != protocol.headline:
            raise ProtocolError(
                f"{name}: main_score is {metadata.main_score!r}, and the protocol's headline is "
                f"{protocol.headline!r} ({protocol.source}). Set main_score to that."
            )
        if metadata.type not in cls._task_types:
            raise ProtocolError(
                f"{name}: type is {metadata.type!r}, expected {' or '.join(cls._task_types)}."
            )
        if unknown := set(metadata.eval_splits) - set(protocol.facts):
            raise ProtocolError(f"{name}: the protocol has no facts of the splits {unknown}.")

    @classmethod
    @abstractmethod
    def read(cls, source: Source, split: str, subset: str) -> Any:  # noqa: ANN401
        """Read the rows of one split and subset, all of them and as they stand in the files.

        Raises:
            DataError: If a file is missing or damaged.
        """

    @classmethod
    @abstractmethod
    def facts(cls, split: str, subset: str) -> PairFacts | QuestionFacts:
        """What the protocol says of the rows of a split and subset.

        Raises:
            DataError: If it knows no such subset.
        """

    @classmethod
    def splits(cls) -> list[str]:
        """The splits that can be loaded."""
        return list(cls.protocol.facts)

    @classmethod
    @abstractmethod
    def subsets(cls, split: str) -> list[str]:
        """The subsets of a split; training splits need not have those of the evaluation."""

    @classmethod
    @abstractmethod
    def parts(cls, split: str, subset: str) -> list[str]:
        """The question sets, or parts of the pairs, whose scores a result holds by themselves."""

    @classmethod
    def load(cls, split: str, subset: str = DEFAULT_SUBSET) -> tuple[Any, str]:
        """Read and verify the rows of one split and subset.

        Returns:
            The rows, unfiltered, and the dataset revision that a result on them carries.

        Raises:
            DataError: If a file is missing or damaged, or holds other rows than the protocol names.
        """
        with errors_named(cls.metadata.name, split, subset):
            if split not in cls.protocol.facts:
                raise DataError(f"there is no such split; there are {', '.join(cls.splits())}.")
            facts = cls.facts(split, subset)
            content = cls.read(cls.source, split, subset)
            check_records(content)
            return content, cls._verified_revision(content, facts, split)

    @classmethod
    def _verified_revision(
        cls, content: Pairs | Sequence[Question], facts: PairFacts | QuestionFacts, split: str
    ) -> str:
        if isinstance(cls.source, SampleFiles):
            return cls.metadata.revision
        if isinstance(cls.protocol, RankingProtocol):
            check_counts(content, facts, cls.protocol.keep_in(split))
        else:
            check_counts(content, facts)
        try:
            check_fingerprint(content, facts.fingerprint)
        except DataError as error:
            if not cls.editions_differ:
                raise
            found = f"{UNVERIFIED}{fingerprint(content)[:16]}"
            logger.warning(
                "%s: this is not the paper's edition of the data. Its numbers do not compare with "
                "published ones, and results carry the dataset revision %s. (%s)",
                cls.metadata.name,
                found,
                error,
            )
            return found
        return cls.metadata.revision

    def load_data(
        self,
        num_proc: int | None = None,
        *,
        timer: TimingStack | None = None,
        **kwargs: Any,
    ) -> None:
        """Load, verify and filter the data of the chosen splits and subsets.

        Args:
            num_proc: Passed on to ``dataset_transform``.
            timer: Records the phases.
            kwargs: Not used; mteb's signature.

        Raises:
            DataError: If the data is missing or is not the paper's.
        """
        if self.data_loaded:
            return
        timer = timer or TimingStack()
        with timer("Data loading", log_message=f"Loading dataset {self.metadata.name}..."):
            self.fingerprints = {}
            try:
                revisions = self._load_splits()
            except DataNotProvidedError as error:
                if not self.metadata.is_public:  # mteb goes on to the next task, and says no more
                    logger.warning("%s", error)
                raise
        for revision in revisions - {self.metadata.revision}:
            dataset = {**self.metadata.dataset, "revision": revision}
            self.metadata = self.metadata.model_copy(update={"dataset": dataset})
        with timer("Dataset transform"):
            self.dataset_transform(num_proc=num_proc)
        self.data_loaded = True

    def _check_prediction_folder(
        self, model: MTEBModels, folder: Path | str | None, split: str, subset: str
    ) -> None:
        """See that predictions can be written, before the model is run.

        Raises:
            ProtocolError: If the folder holds predictions of this task by another model, or on
                another edition of the data.
            DataError: If the file that it holds is damaged.
        """
        if folder:
            path = Path(folder) / self.prediction_file_name
            check_predictions(path, model.mteb_model_meta, self.metadata.revision, split, subset)

    def _save_task_predictions(
        self,
        predictions: Mapping[str, Any] | list[Any],
        model: MTEBModels,
        prediction_folder: Path,
        hf_split: str,
        hf_subset: str,
    ) -> None:
        write_predictions(
            Path(prediction_folder) / self.prediction_file_name,
            model.mteb_model_meta,
            self.metadata.revision,
            hf_split,
            hf_subset,
            predictions,
        )

    def _remark(self, remarks: Mapping[str, str], subset: str) -> None:
        """Say once a task what the model's scores should be read with."""
        if subset != self.hf_subsets[0]:
            return
        if "declared_similarity" in remarks:
            logger.warning(
                "%s: the model declares the similarity %s; the protocol's cosine is used instead.",
                self.metadata.name,
                remarks["declared_similarity"],
            )
        if "quantised" in remarks:
            logger.warning(
                "%s: the embeddings are quantised to %s. Their scale depends on the texts of one "
                "call, so that scores change with what else is encoded: compare only runs of the "
                "same settings.",
                self.metadata.name,
                remarks["quantised"],
            )

    @classmethod
    def has_open_licence(cls) -> bool:
        """Whether the licence in the metadata is one under which the data may be passed on."""
        licence = cls.metadata.license
        return (
            cls.metadata.is_public
            and licence not in {None, "not specified"}
            and "://" not in str(licence)
        )

    def push_dataset_to_hub(self, repo_name: str, *args: Any, **kwargs: Any) -> None:
        """Push the data to a hub, where its licence lets it be passed on.

        Raises:
            ProtocolError: If the data is not public, or has no open licence.
        """
        if not self.has_open_licence():
            raise ProtocolError(
                f"{self.metadata.name} may not be passed on (licence: {self.metadata.license}). "
                f"Everybody gets the data from {self.metadata.reference}."
            )
        super().push_dataset_to_hub(repo_name, *args, **kwargs)

    def calculate_descriptive_statistics(
        self, overwrite_results: bool = False, num_proc: int | None = None
    ) -> dict[str, DescriptiveStatistics]:
        """Counts and lengths of the evaluated splits: as shipped with the task, or computed.

        mteb keeps whatever it computes inside a package. Here only ``overwrite_results=True`` does,
        which is how a task's authors make the file that they ship, beside the task's module.

        Args:
            overwrite_results: Whether to compute anew, and write the file.
            num_proc: Passed on to mteb.

        Returns:
            mteb's statistics by split, of the rows that an evaluation scores.

        Raises:
            DataError: If they have to be computed, and the data is missing or is not the paper's.
        """
        if overwrite_results or self.metadata.descriptive_stats is not None:
            return super().calculate_descriptive_statistics(overwrite_results, num_proc)
        self.load_data(num_proc)
        with TemporaryDirectory() as folder:
            elsewhere = copy(self)
            elsewhere.metadata = PaperMetadata.at(Path(folder), self.metadata)
            return super(PaperTask, elsewhere).calculate_descriptive_statistics(num_proc=num_proc)

    @abstractmethod
    def rescore(self, split: str, subset: str, predicted: Any) -> dict[str, float | str]:  # noqa: ANN401
        """What an evaluation finds, from scores that one kept. The data is loaded.

        Args:
            split: The split.
            subset: The subset.
            predicted: The prediction file's part of this split and subset: one finite score for
                every pair or candidate, as :mod:`mteb_ext.analysis.gold` checks.

        Returns:
            The scores of the subset, without remarks on the model and without the interval of a
            mean over subsets.

        Raises:
            UndefinedMetricError: If the scores are constant, so that no correlation is defined.
        """

    @abstractmethod
    def _load_splits(self) -> set[str]:
        """Fill ``self.dataset`` and return the dataset revisions that were found."""


def sample_twin(task: type[PaperTask], files: SampleFiles | None = None) -> type[PaperTask]:
    """The task ``NAME.sample``: the same protocol on a few made-up rows in the same file formats.

    It shows that everything works where the real data is not at hand. Its numbers mean nothing.

    Args:
        task: The task.
        files: Where the rows are; this package's samples where left out.
    """
    metadata = task.metadata.model_copy(
        update={
            "name": task.metadata.name + SAMPLE_SUFFIX,
            "description": f"A few made-up rows in the formats of {task.metadata.name}; for trying "
            "things out only.",
            "dataset": {"path": "mteb_ext/samples", "revision": "sample"},
            "license": "apache-2.0",
            "is_public": True,
        }
    )
    attributes = {
        "__doc__": metadata.description,
        "__module__": __name__,
        "metadata": metadata,
        "source": files or SampleFiles(),
    }
    twin = type(f"{task.__name__}Sample", (task,), attributes)
    globals()[twin.__name__] = twin  # where pickle looks for it
    return twin


def column(data: Dataset, name: str) -> pa.ChunkedArray:
    """A column of a dataset as it lies in memory: no Python object a row is made."""
    return data.select_columns([name]).with_format("arrow")[:].column(name)


def interval_scores(name: str, interval: Callable[[], Interval]) -> dict[str, float]:
    """The ends of a 95% interval as result keys; none where it is undefined, as of one query."""
    try:
        low, high = interval()
    except UndefinedMetricError:
        return {}
    return {f"{name}_low": low, f"{name}_high": high}


@contextmanager
def errors_named(task: str, split: str, subset: str) -> Iterator[None]:
    """Put the task's name before the message of any of the package's errors raised inside."""
    try:
        yield
    except MtebExtError as error:
        where = split if subset == DEFAULT_SUBSET else f"{split}, {subset}"
        error.args = (f"{task} ({where}): {error}",)  # the same error: no chain of tracebacks
        raise
