"""What a cell costs, roughly: texts times the size of the model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mteb_ext.running.models import ModelSpec

if TYPE_CHECKING:
    from mteb.abstasks import AbsTask

    from mteb_ext.bases import PaperTask

# Measured on two CPU cores with encoders of 20 to 110 million parameters, see docs/SCALING.md. A
# GPU is faster by a factor that is the same for all cells, so that shares stay fair.
_SECONDS_PER_TEXT = 2e-4
_SECONDS_PER_TEXT_AND_PARAMETER = 2.2e-10
_SECONDS_PER_TASK = 1.0  # loading data, metrics, intervals

_UNKNOWN_TEXTS = 10_000
_UNKNOWN_PARAMETERS = 100_000_000
_WEIGHTS = (".safetensors", ".bin", ".pt", ".onnx")


def cell_cost(n_texts: int, n_parameters: int) -> float:
    """Seconds that a model of some size takes for a task with some texts, on two CPU cores."""
    per_text = _SECONDS_PER_TEXT + _SECONDS_PER_TEXT_AND_PARAMETER * n_parameters
    return _SECONDS_PER_TASK + n_texts * per_text


def pace(cells: Sequence[tuple[float, float]]) -> float | None:
    """How many times its cost a cell takes here.

    Args:
        cells: The seconds that each finished cell took, 0 where that is not known, and its cost.

    Returns:
        The ratio of the sums over the cells of known time; None where there is none.
    """
    known = [(seconds, cost) for seconds, cost in cells if seconds > 0]
    if not known:
        return None
    return sum(seconds for seconds, _ in known) / sum(cost for _, cost in known)


def texts_of_task(task: AbsTask) -> int:
    """Texts in the splits and subsets that a task is to be evaluated on; a guess for unknown ones.

    Ours are counted by the protocol, mteb's by their descriptive statistics.
    """
    from mteb_ext.bases import PaperTask
    from mteb_ext.data.sources import SampleFiles

    if isinstance(task, PaperTask):
        if isinstance(task.source, SampleFiles):
            return 100
        return sum(
            _texts_of_facts(task, split, subset)
            for split in task.eval_splits
            for subset in task.hf_subsets
        )
    counts = task.metadata.n_samples or {}
    known = [counts[split] for split in task.eval_splits if isinstance(counts.get(split), int)]
    return sum(known) or _UNKNOWN_TEXTS


def parameters_of_model(spec: ModelSpec) -> int:
    """Parameters of a model, by the size of its files or by mteb's registry; a guess for others."""
    if spec.folder:
        files = [path for path in Path(spec.folder).rglob("*") if path.suffix in _WEIGHTS]
        return sum(path.stat().st_size for path in files) // 4
    from mteb.models.model_implementations import MODEL_REGISTRY

    registered = MODEL_REGISTRY.get(spec.model)
    known = registered.n_parameters if registered else None
    return _UNKNOWN_PARAMETERS if known is None else known


def _texts_of_facts(task: PaperTask, split: str, subset: str) -> int:
    from mteb_ext.errors import DataError
    from mteb_ext.protocol import PairFacts

    try:
        facts = task.facts(split, subset)
    except DataError:  # a split without this subset
        return 0
    return 2 * facts.pairs if isinstance(facts, PairFacts) else facts.rows + facts.questions
