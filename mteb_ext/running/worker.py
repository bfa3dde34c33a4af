"""One worker: runs the cells of one model after another, in this process."""

from __future__ import annotations

import contextlib
import gc
import io
import logging
import os
import sys
import time
import traceback
from collections.abc import Generator, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal

from mteb_ext.data.sources import DataNotProvidedError
from mteb_ext.errors import ModelError, MtebExtError, NotApplicableError, error_line
from mteb_ext.formats.stamp import Stamp, file_sha256
from mteb_ext.protocol import protocol_version
from mteb_ext.running.models import ModelSpec
from mteb_ext.running.plan import Options
from mteb_ext.running.stamp import hardware, libraries
from mteb_ext.running.store import Store
from mteb_ext.running.tasks import task_of_run

if TYPE_CHECKING:
    from mteb.abstasks import AbsTask
    from mteb.results import TaskResult


_NO_PREDICTIONS = "without predictions for all of it; --overwrite-strategy always makes them"


@dataclass(frozen=True)
class Event:
    """What became of a cell.

    Attributes:
        model: Index of the model in the plan.
        task: Name of the task.
        status: ``started``, ``cached`` (finished before), ``done``, ``skipped`` (the data is not
            public, or the model cannot do such a task) or ``failed``.
        name: Name of the model's results.
        score: The main score, where there is one.
        metric: The main score's name.
        seconds: How long it took.
        message: The error, or what else the user should know.
        log: Path of the log.
    """

    model: int
    task: str
    status: Literal["started", "cached", "done", "skipped", "failed"]
    name: str = ""
    score: float | None = None
    metric: str = ""
    seconds: float = 0.0
    message: str = ""
    log: str = ""


@dataclass(frozen=True)
class Job:
    """What a worker is asked to do: cells of one model.

    Attributes:
        index: Index of the model in the plan.
        model: The model.
        tasks: Names of the tasks, in the order in which they are run.
        options: What holds for the whole run.
        store: Where the files are.
        device: The device; the best there is if None.
        command: The command line, for the stamps.
    """

    index: int
    model: ModelSpec
    tasks: tuple[str, ...]
    options: Options
    store: Store
    device: str | None = None
    command: tuple[str, ...] = ()


class Worker:
    """Runs a job; the model is loaded when the first cell needs it, and let go at the end."""

    def __init__(self, job: Job) -> None:
        """Prepare; nothing is loaded.

        Args:
            job: What to do.
        """
        self._job = job
        self._model: Any = None
        self._shared: Any = None
        self._load_error: ModelError | None = None
        self._process = os.getpid()

    def run(self) -> Iterator[Event]:
        """Run all cells that are not finished. Errors of a model or task are events, not raised.

        A cell that another process is running is waited for after the others.

        Yields:
            What becomes of each cell, as it happens.
        """
        later: list[str] = []
        for task in self._job.tasks:
            settled = yield from self._cell(task, wait=False)
            later += [] if settled else [task]
        for task in later:
            yield from self._cell(task, wait=True)
        self._model = self._shared = None
        _free_memory()

    def _cell(self, name: str, *, wait: bool) -> Generator[Event, None, bool]:
        """Run a cell; return whether it is settled, as it is not while another process runs it."""
        job = self._job
        event = Event(job.index, name, "failed", job.model.model)
        try:
            meta = job.model.meta
            event = replace(event, name=str(meta.name))
            task = task_of_run(name, job.options.eval_splits, job.options.eval_subsets)
            with job.store.claim(meta, name, wait=wait) as place:
                if place is None:
                    return False
                yield from self._claimed_cell(task, place, event)
        except MtebExtError as error:
            yield replace(event, message=error_line(error))
        except OSError as error:
            message = f"the output folder {job.store.folder} cannot be written: {error}"
            yield replace(event, message=message)
        return True

    def _claimed_cell(self, task: AbsTask, place: Path, event: Event) -> Iterator[Event]:
        job, name, meta = self._job, task.metadata.name, self._job.model.meta
        if job.options.overwrite_strategy != "always":
            result = job.store.finished(meta, task)
            if result is not None:
                yield self._settled(event, "cached", task, result)
                return
        yield replace(event, status="started")
        event = replace(event, log=str(job.store.log(meta, name)))
        started = time.monotonic()
        try:
            with _kept_environment(), captured(job.store.log(meta, name)):
                result = self._evaluate(task, place)
        except KeyboardInterrupt:
            raise
        except (DataNotProvidedError, NotApplicableError) as error:
            yield replace(event, status="skipped", message=error_line(error))
            return
        except BaseException as error:  # sys.exit, pytest.skip, the panics of other languages
            yield replace(event, message=error_line(error))
            return
        finally:
            self._end_if_forked()
        job.store.finish(place, meta, name)
        seconds = time.monotonic() - started
        yield self._settled(replace(event, seconds=seconds), "done", task, result)

    def _end_if_forked(self) -> None:
        """End a copy of this process that a model forked: two must not report one cell."""
        if os.getpid() != self._process:
            os._exit(1)

    def _settled(
        self, event: Event, status: Literal["cached", "done"], task: AbsTask, found: TaskResult
    ) -> Event:
        """The event of a cell with a result; it says if predictions that are wanted are missing."""
        lacks = self._job.options.predictions and not self._job.store.has_predictions(
            self._job.model.meta, found
        )
        return replace(
            event,
            status=status,
            score=_score(task, found),
            metric=_metric(task),
            message=_NO_PREDICTIONS if lacks else "",
        )

    def _evaluate(self, task: AbsTask, place: Path) -> TaskResult:
        import mteb
        from mteb.cache import ResultCache

        job, name, inside = self._job, task.metadata.name, Store(place)
        model = self._loaded(task)
        meta = job.model.meta
        if job.options.overwrite_strategy != "always":
            job.store.begin(place, meta, task)
        predictions = inside.predictions(meta, name)
        started = time.monotonic()
        found = mteb.evaluate(
            model,
            task,
            cache=ResultCache(place),
            encode_kwargs={"batch_size": job.options.batch_size, "show_progress_bar": False},
            overwrite_strategy=job.options.overwrite_strategy,
            prediction_folder=predictions.parent if job.options.predictions else None,
            show_progress_bar=False,
        )
        if found.exceptions:  # mteb skips private tasks without data
            raise DataNotProvidedError(found.exceptions[0].exception)
        result = found.task_results[0]
        Stamp(
            task=name,
            dataset_revision=result.dataset_revision,
            **_of_protocol(task),
            model=asdict(job.model),
            model_name=str(meta.name),
            model_revision=str(meta.revision),
            result_sha256=file_sha256(inside.result(meta, name)),
            predictions_sha256=file_sha256(predictions),
            seconds=round(time.monotonic() - started, 3),
            command=list(job.command),
            libraries=libraries(),
            hardware=hardware(),
        ).write(inside.stamp(meta, name))
        return result

    def _loaded(self, task: AbsTask) -> Any:  # noqa: ANN401 - one of mteb's protocols
        """The model; for tasks of this package one that encodes each text once for all of them.

        For other tasks, whose texts may be many millions, nothing is kept.
        """
        from mteb.models import EncoderProtocol

        from mteb_ext.bases import PaperTask
        from mteb_ext.encoding.batches import by_tokens
        from mteb_ext.encoding.sharing import SharedEmbeddings

        if self._load_error is not None:
            raise self._load_error
        if self._model is None:
            try:
                self._model = by_tokens(self._job.model.load(self._job.device))
            except ModelError as error:
                self._load_error = error
                raise
            late = "late-interaction" in (self._model.mteb_model_meta.model_type or ())
            if isinstance(self._model, EncoderProtocol) and not late:  # it has no single vectors
                self._shared = SharedEmbeddings(self._model)
        return self._shared if self._shared and isinstance(task, PaperTask) else self._model


def _of_protocol(task: AbsTask) -> dict[str, Any]:
    """What a stamp says of the protocol and of the data that was loaded for it."""
    from mteb_ext.bases import PaperTask

    if not isinstance(task, PaperTask):
        return {"protocol": None, "protocol_version": None, "data_fingerprints": {}}
    return {
        "protocol": task.protocol.source,
        "protocol_version": protocol_version(task.protocol),
        "data_fingerprints": task.fingerprints,
    }


@contextlib.contextmanager
def captured(log: Path) -> Iterator[None]:
    """Send everything that is said meanwhile to a log file: Python's, C's and the loggers'.

    The traceback of an error goes there too, and the error is raised on.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with (  # what is said may hold a file's name that is no UTF-8
        log.open("a", encoding="utf-8", errors="backslashreplace", buffering=1) as file,
        _redirected(file),
    ):
        handler = logging.StreamHandler(file)
        handler.setFormatter(logging.Formatter("%(asctime)s %(name)s: %(message)s"))
        root, mteb = logging.getLogger(), logging.getLogger("mteb")
        level = mteb.level
        root.addHandler(handler)
        mteb.setLevel(logging.INFO)
        try:
            yield
        except BaseException:
            traceback.print_exc(file=file)
            raise
        finally:
            mteb.setLevel(level)
            root.removeHandler(handler)


@contextlib.contextmanager
def _redirected(file: io.TextIOWrapper) -> Iterator[None]:
    sys.stdout.flush()
    sys.stderr.flush()
    kept = [os.dup(1), os.dup(2)]
    try:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
        with contextlib.redirect_stdout(file), contextlib.redirect_stderr(file):
            yield
    finally:
        for number, copy in zip((1, 2), kept, strict=True):
            os.dup2(copy, number)
            os.close(copy)


def _score(task: AbsTask, found: TaskResult) -> float:
    """The mean main score over the splits and subsets of this run; the file may hold more."""
    return fmean(
        entry["main_score"]
        for split in task.eval_splits
        for entry in found.scores.get(split, ())
        if entry["hf_subset"] in task.hf_subsets
    )


def _metric(task: AbsTask) -> str:
    """The name of what :func:`_score` gives."""
    name = str(task.metadata.main_score)
    splits = task.eval_splits
    return name if len(splits) == 1 else f"{name} (mean of {', '.join(splits)})"


@contextlib.contextmanager
def _kept_environment() -> Iterator[None]:
    """Put environment variables back that a model removed or changed: the next cell needs them."""
    before = dict(os.environ)
    try:
        yield
    finally:
        os.environ.update(before)


def _free_memory() -> None:
    gc.collect()
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.empty_cache()
