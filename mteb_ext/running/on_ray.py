"""The Ray engine: jobs as tasks of a Ray cluster, which places them and retries lost ones."""

from __future__ import annotations

import re
import socket
import tempfile
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from mteb_ext.errors import RunError, error_line
from mteb_ext.files import write_whole
from mteb_ext.formats.layout import RUN_SETTINGS
from mteb_ext.running.store import Store
from mteb_ext.running.worker import Event, Job, Worker

_RETRIES = 3  # of a job whose worker or node is lost; finished cells are not run again


@dataclass(frozen=True)
class Delivery:
    """An event, with the files of its cell if the worker cannot see the output folder."""

    event: Event
    files: dict[str, bytes]


class RayCluster:
    """A connection to a Ray cluster.

    Attributes:
        n_workers: How many jobs it can do at a time.
    """

    def __init__(self, address: str, num_cpus: float, num_gpus: float) -> None:
        """Connect to a cluster, or start one on this machine.

        Args:
            address: ``"auto"``, ``"host:port"`` or ``"ray://host:port"``; ``"local"`` to start one.
            num_cpus: CPUs that a job takes.
            num_gpus: GPUs that a job takes.

        Raises:
            RunError: If ray is not installed, or the cluster cannot be reached or has too little.
        """
        try:
            ray: Any = import_module("ray")
        except ImportError:
            raise RunError("--ray needs ray: pip install 'mteb-ext[ray]'.") from None
        self._ray = ray
        try:
            _check_that_somebody_answers(address)
            ray.init(address=address, log_to_driver=False, logging_level="ERROR")
        except Exception as error:
            raise RunError(
                f"the Ray cluster {address} cannot be reached: {error_line(error)}"
            ) from error
        self._resources = {"num_cpus": num_cpus, "num_gpus": num_gpus}
        try:
            self.n_workers = self._count_workers(ray.cluster_resources())
        except RunError:
            self.close()
            raise

    def _count_workers(self, there: dict[str, float]) -> int:
        counts = [
            int(there.get(name, 0) // wanted)
            for name, wanted in (
                ("CPU", self._resources["num_cpus"]),
                ("GPU", self._resources["num_gpus"]),
            )
            if wanted
        ]
        if not counts or min(counts) < 1:
            raise RunError(
                f"the Ray cluster has {there.get('CPU', 0):g} CPUs and {there.get('GPU', 0):g} "
                f"GPUs, and a job takes {self._resources['num_cpus']:g} and "
                f"{self._resources['num_gpus']:g}."
            )
        return min(counts)

    def run(self, jobs: Sequence[Job]) -> Iterator[Event]:
        """Run jobs on the cluster.

        Workers write into the output folder where they see it; where they do not, the files of each
        cell come back through Ray's object store.

        Args:
            jobs: The jobs, longest first.

        Yields:
            What becomes of each cell, as it happens.
        """
        if not jobs:
            return
        ray, store = self._ray, jobs[0].store
        remote = ray.remote(num_returns="streaming", max_retries=_RETRIES, **self._resources)(_do)
        sign = store.folder / ".running" / f"driver-{uuid.uuid4().hex}"
        self._show(sign)
        open_jobs = {remote.remote(replace(j, model=replace(j.model)), sign): j for j in jobs}
        settled: set[tuple[int, str]] = set()
        try:
            while open_jobs:
                (stream, *_), _ = ray.wait(list(open_jobs), num_returns=1)
                try:
                    delivery: Delivery = ray.get(next(stream))
                except StopIteration:
                    del open_jobs[stream]
                except ray.exceptions.RayError as error:
                    yield from _lost(open_jobs.pop(stream), settled, error)
                else:
                    _write(delivery.files, store)
                    if delivery.event.status != "started":
                        settled.add((delivery.event.model, delivery.event.task))
                    yield delivery.event
        finally:
            sign.unlink(missing_ok=True)

    @staticmethod
    def _show(sign: Path) -> None:
        """Make the marker that tells workers they share the output folder."""
        sign.touch()

    def close(self) -> None:
        """Disconnect; a cluster that was started for this run ends."""
        self._ray.shutdown()


def _check_that_somebody_answers(address: str) -> None:
    """Connect once: Ray itself would try for minutes.

    Raises:
        OSError: If nobody answers at the address.
    """
    found = re.fullmatch(r"(?:ray://)?\[?([^/]+?)\]?:(\d+)", address)
    if found:
        socket.create_connection((found[1], int(found[2])), timeout=10).close()


def _lost(job: Job, settled: set[tuple[int, str]], error: Exception) -> Iterator[Event]:
    """Failures of the cells that a job leaves undone when Ray gives up on it."""
    for task in job.tasks:
        if (job.index, task) not in settled:
            yield Event(job.index, task, "failed", job.model.model, message=error_line(error))


def _do(job: Job, sign: Path) -> Iterator[Delivery]:
    """Do a job in a Ray worker."""
    if sign.exists():
        for event in Worker(job).run():
            yield Delivery(event, {})
        return
    with tempfile.TemporaryDirectory() as home:
        own = Store(Path(home))
        own.check()
        for event in Worker(replace(job, store=own)).run():
            yield Delivery(event, _files_of(event, job, own))


def _files_of(event: Event, job: Job, own: Store) -> dict[str, bytes]:
    """The files of a cell, by their place in the output folder, in the order of writing."""
    if event.status != "done":
        return {}
    meta, task = job.model.meta, event.task
    result = own.result(meta, task)
    paths = [
        result.with_name("model_meta.json"),
        result.with_name(RUN_SETTINGS),
        own.log(meta, task),
        own.predictions(meta, task),
        own.stamp(meta, task),
        result,
    ]
    return {str(path.relative_to(own.folder)): path.read_bytes() for path in paths if path.exists()}


def _write(files: dict[str, bytes], store: Store) -> None:
    for name, content in files.items():
        target = store.folder / name
        if name.startswith("predictions/") and store.prediction_folder:
            target = store.prediction_folder / name.removeprefix("predictions/")
        if target.name == RUN_SETTINGS:  # of all cells of a model; mteb reads the last line of each
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("ab") as file:
                file.write(content)
        else:
            write_whole(target, content)
