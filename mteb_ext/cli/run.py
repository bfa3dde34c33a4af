"""``mteb-ext run``: evaluate many models on many tasks, here or on a cluster."""

from __future__ import annotations

import argparse
import importlib.util
import json
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from mteb_ext.cli.output import print_error, print_line, write_file
from mteb_ext.cli.parsing import Commands, add_command, add_task_options, positive
from mteb_ext.cli.results_line import print_results_line
from mteb_ext.errors import RunError
from mteb_ext.running.folders import KINDS
from mteb_ext.running.plan import STRATEGIES, Cell, Options, Plan, shard, units

if TYPE_CHECKING:
    from mteb_ext.running.models import ModelSpec
    from mteb_ext.running.store import Store
    from mteb_ext.running.worker import Event, Job

T = TypeVar("T")


def add_commands(commands: Commands) -> None:
    """Add the command to the parser."""
    run = add_command(
        commands,
        "run",
        summary="evaluate models, by name or from folders, on tasks",
        details="What is finished is not run again: after a run that was stopped, in whatever "
        "way, the same command goes on where it was.",
        examples=[
            "-m sentence-transformers/all-MiniLM-L6-v2 -t JACSTS WikiQA",
            "-m checkpoints/run1 checkpoints/run2 -b mteb-ext --jobs 2",
        ],
    )
    _add_plan_options(run)
    _add_model_options(run)
    _add_engine_options(run)
    run.set_defaults(command=_run)


def _add_plan_options(run: argparse.ArgumentParser) -> None:
    what = run.add_argument_group("what is run")
    what.add_argument(
        "-m",
        "--model",
        nargs="+",
        action="extend",
        default=[],
        metavar="MODEL",
        help="folders, and names that mteb or the Hugging Face hub knows",
    )
    add_task_options(what, "tasks of this package or of mteb", "all tasks of these benchmarks")
    what.add_argument(
        "--eval-splits",
        nargs="+",
        default=[],
        metavar="SPLIT",
        help="each task's own if left out",
    )
    what.add_argument(
        "--eval-subsets", nargs="+", default=[], metavar="SUBSET", help="all if left out"
    )
    what.add_argument(
        "--batch-size", type=positive(int), default=32, help="texts in a batch at most"
    )
    what.add_argument(
        "--overwrite-strategy",
        choices=STRATEGIES,
        default=STRATEGIES[0],
        help="what is run again, as in mteb",
    )
    what.add_argument(
        "--no-predictions",
        dest="predictions",
        action="store_false",
        help="do not keep scores by pair or candidate, which 'compare' needs",
    )
    what.add_argument(
        "--plan", type=Path, metavar="FILE", help="models, tasks and options from a file"
    )
    what.add_argument(
        "--save-plan", type=Path, metavar="FILE", help="write such a file, and run nothing"
    )
    what.add_argument("--dry-run", action="store_true", help="show the cells, and run nothing")
    what.add_argument(
        "--output-folder", type=Path, default=Path("results"), help="where results go"
    )
    what.add_argument(
        "--prediction-folder",
        type=Path,
        help="where predictions go, by model; 'predictions' in the output folder if left out",
    )


def _add_model_options(run: argparse.ArgumentParser) -> None:
    how = run.add_argument_group("how the models are loaded (a plan file has it by model)")
    kind = how.add_mutually_exclusive_group()
    kind.add_argument("--kind", choices=KINDS, help="what a folder is run as, where it may be two")
    kind.add_argument(
        "--cross-encoder",
        dest="kind",
        action="store_const",
        const="cross-encoder",
        help="short for --kind cross-encoder",
    )
    how.add_argument("--name", help="name of a folder's results; made from its path if left out")
    how.add_argument(
        "--model-revision", metavar="REVISION", help="a commit of the hub's; mteb's if left out"
    )
    how.add_argument(
        "--trust-remote-code", action="store_true", help="run code that comes with the model"
    )
    how.add_argument(
        "--model-kwargs",
        type=_json_object,
        default={},
        metavar="JSON",
        help='further arguments of the model\'s class, as {"truncate_dim": 256}',
    )
    how.add_argument(
        "--dtype", help='for example bfloat16; as --model-kwargs {"model_kwargs": {"dtype": ...}}'
    )
    how.add_argument(
        "--prompt",
        nargs="+",
        action="extend",
        type=_assignment,
        default=[],
        metavar="KEY=TEXT",
        help="text before queries or documents: query=..., document=...",
    )


def _add_engine_options(run: argparse.ArgumentParser) -> None:
    where = run.add_argument_group("where it is run: in this process, if nothing is said")
    engine = where.add_mutually_exclusive_group()
    engine.add_argument("--jobs", type=positive(int), metavar="N", help="in N processes")
    engine.add_argument(
        "--ray",
        nargs="?",
        const="local",
        metavar="ADDRESS",
        help="on a Ray cluster: auto, host:port or ray://host:port; one is started if left out",
    )
    where.add_argument(
        "--device",
        nargs="+",
        default=[],
        help="for example cpu or cuda:1; with --jobs several, which the processes take in turn",
    )
    where.add_argument(
        "--shard",
        type=_shard,
        metavar="I/N",
        help="only the I-th of N parts, which are disjoint and of about the same cost",
    )
    where.add_argument(
        "--num-cpus", type=positive(float), default=1, help="CPUs of a job, with --ray"
    )
    where.add_argument("--num-gpus", type=float, default=0, help="GPUs of a job, with --ray")


def _shard(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d+)/(\d+)", text)
    number, of = map(int, found.groups()) if found else (0, 0)
    if not 1 <= number <= of:
        raise argparse.ArgumentTypeError(f"{text} is not I/N with I from 1 to N")
    return number, of


def _json_object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text} is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError(f"{text} is not a JSON object")
    return value


def _assignment(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not (key and equals):
        raise argparse.ArgumentTypeError(f"{text} is not KEY=TEXT")
    return key, value


def _run(arguments: argparse.Namespace) -> None:
    from mteb_ext.running.plan_files import write_plan
    from mteb_ext.running.prepare import cells_of

    plan = _plan(arguments)
    cells = cells_of(plan)
    from mteb_ext.running.store import Store  # with mteb, which a misspelt model can do without

    if arguments.save_plan:
        write_file(arguments.save_plan, write_plan(plan))
        return
    predictions = arguments.prediction_folder
    store = Store(arguments.output_folder.absolute(), predictions and predictions.absolute())
    if arguments.dry_run:
        _show(plan, _chosen(cells, arguments.shard), store)
        return
    _check_torch()
    store.check()
    _do(plan, _chosen(cells, arguments.shard), store, arguments)


def _plan(arguments: argparse.Namespace) -> Plan:
    from mteb_ext.running.plan_files import read_plan
    from mteb_ext.running.prepare import with_distinct_names
    from mteb_ext.running.tasks import tasks_of_benchmarks

    if arguments.plan:
        if arguments.model or arguments.tasks or arguments.benchmarks:
            raise RunError("--plan names models and tasks already: leave -m, -t and -b out.")
        plan = read_plan(arguments.plan)
        _check_trust(plan, trusted=arguments.trust_remote_code)
        return replace(plan, models=with_distinct_names(plan.models))
    tasks = [*arguments.tasks, *tasks_of_benchmarks(arguments.benchmarks)]
    if not arguments.model or not tasks:
        raise RunError("say what to run: -m MODEL and -t TASK or -b BENCHMARK, or --plan FILE.")
    if len(arguments.model) > 1 and (arguments.name or arguments.model_revision):
        raise RunError("--name and --model-revision are one model's: use --plan for several.")
    models = [_model(name, arguments) for name in dict.fromkeys(arguments.model)]
    options = Options(
        tuple(arguments.eval_splits),
        tuple(arguments.eval_subsets),
        arguments.batch_size,
        arguments.overwrite_strategy,
        arguments.predictions,
    )
    return Plan(with_distinct_names(models), tuple(dict.fromkeys(tasks)), options)


def _check_torch() -> None:
    """See that models can be run at all.

    Raises:
        RunError: If mteb is installed without what models need.
    """
    if importlib.util.find_spec("torch") is None:
        raise RunError("a model needs torch, which mteb-core leaves out: pip install mteb.")


def _check_trust(plan: Plan, *, trusted: bool) -> None:
    """See that whoever runs a plan agrees to run code: a plan file may be anybody's.

    Raises:
        RunError: If the plan asks for it, and the command line does not.
    """
    asking = [model.model for model in plan.models if model.trust_remote_code]
    if asking and not trusted:
        raise RunError(
            f"the plan wants to run code that comes with {', '.join(asking)}. Look at it, and say "
            "--trust-remote-code beside --plan to run it."
        )


def _model(name: str, arguments: argparse.Namespace) -> ModelSpec:
    from mteb_ext.running.models import ModelSpec

    spec = ModelSpec(
        name,
        arguments.kind,
        arguments.name,
        arguments.model_revision,
        arguments.trust_remote_code,
        _model_kwargs(arguments),
        dict(arguments.prompt),
    )
    # --kind speaks of folders; a model by name among them is what it is.
    return spec if spec.folder or len(arguments.model) == 1 else replace(spec, kind=None)


def _model_kwargs(arguments: argparse.Namespace) -> dict[str, Any]:
    given: dict[str, Any] = dict(arguments.model_kwargs)
    if arguments.dtype:
        given["model_kwargs"] = {**given.get("model_kwargs", {}), "dtype": arguments.dtype}
    return given


def _chosen(cells: Sequence[Cell], part: tuple[int, int] | None) -> list[Cell]:
    """The cells of a shard, or all."""
    if part is None:
        return list(cells)
    mine = {(unit.model, task) for unit in shard(cells, *part) for task in unit.tasks}
    return [cell for cell in cells if (cell.model, cell.task) in mine]


def _do(plan: Plan, cells: Sequence[Cell], store: Store, arguments: argparse.Namespace) -> None:
    from mteb_ext.running.progress import Progress

    costs = {(cell.model, cell.task): cell.cost for cell in cells}
    try:
        with Progress(costs) as progress:
            for event in _events(plan, cells, store, arguments):
                progress.take(event)
            progress.end()
    except KeyboardInterrupt:
        print_error("stopped; the same command goes on where it was")
        raise
    if progress.n_scored:
        print_results_line(
            arguments.output_folder, [cell.task for cell in cells], arguments.prediction_folder
        )
    if progress.failed:
        print_error(f"{len(progress.failed)} of {len(cells)} cells failed:")
        *others, last = map(_failure, progress.failed)
        for line in others:
            print_error(line)
        raise RunError(last)


def _failure(event: Event) -> str:
    log = f" (log: {event.log})" if event.log else ""
    return f"{event.name} {event.task}: {event.message.removeprefix(f'{event.task}: ')}{log}"


def _events(
    plan: Plan, cells: Sequence[Cell], store: Store, arguments: argparse.Namespace
) -> Iterator[Event]:
    from mteb_ext.running import engines
    from mteb_ext.running.on_ray import RayCluster

    def jobs(n_workers: int) -> list[Job]:
        from mteb_ext.running.prepare import jobs_of

        device = arguments.device[0] if arguments.device else None
        return jobs_of(plan, units(cells, n_workers), store, device=device, command=sys.argv)

    if arguments.ray:
        cluster = RayCluster(arguments.ray, arguments.num_cpus, arguments.num_gpus)
        try:
            yield from cluster.run(jobs(cluster.n_workers))
        finally:
            cluster.close()
    elif arguments.jobs:
        yield from engines.run_in_processes(jobs(arguments.jobs), arguments.jobs, arguments.device)
    else:
        yield from engines.run_here(jobs(1))


def _show(plan: Plan, cells: Sequence[Cell], store: Store) -> None:
    """Print the cells, what there is of them, and about how long the rest takes."""
    from mteb_ext.running.costs import pace
    from mteb_ext.running.progress import duration
    from mteb_ext.running.tasks import task_of_run

    options = plan.options
    again = options.overwrite_strategy == "always"
    took: dict[Cell, float] = {}
    left = []
    for cell in cells:
        task = task_of_run(cell.task, options.eval_splits, options.eval_subsets)
        meta = plan.models[cell.model].meta
        if store.finished(meta, task) is not None:
            took[cell] = store.seconds(meta, cell.task)
        if again or cell not in took:
            left.append(cell)
    measured = pace([(seconds, cell.cost) for cell, seconds in took.items()])
    for cell in cells:
        meta = plan.models[cell.model].meta
        state = f"about {duration(cell.cost * (measured or 1))}" if cell in left else "finished"
        print_line(f"{meta.name} {meta.revision} {cell.task}: {state}")
    total = duration(sum(cell.cost for cell in left) * (measured or 1))
    how = f"by what {len(took)} cells took here" if measured else "on 2 CPU cores"
    print_line(f"{len(cells)} cells; what is not finished takes about {total} {how}.")
