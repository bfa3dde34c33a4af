"""From what the user asks for to jobs: names checked, models told apart, costs guessed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from mteb_ext.running.costs import cell_cost, parameters_of_model, texts_of_task
from mteb_ext.running.folders import folder_name
from mteb_ext.running.models import ModelSpec
from mteb_ext.running.plan import Cell, Plan, Unit
from mteb_ext.running.tasks import task_of_run

if TYPE_CHECKING:
    from mteb_ext.running.store import Store
    from mteb_ext.running.worker import Job


def cells_of(plan: Plan) -> list[Cell]:
    """The cells of a plan, with what each costs. No model and no data is loaded.

    Raises:
        DataError: If there is no such task, split or subset.
        ModelError: If a folder holds no model, or the user must say which kind.
    """
    for model in plan.models:  # before the tasks, for which mteb is imported
        model.check()
    options = plan.options
    texts = {
        name: texts_of_task(task_of_run(name, options.eval_splits, options.eval_subsets))
        for name in plan.tasks
    }
    cells = []
    for index, model in enumerate(plan.models):
        n_parameters = parameters_of_model(model)
        cells += [Cell(index, task, cell_cost(n, n_parameters)) for task, n in texts.items()]
    return cells


def with_distinct_names(models: Sequence[ModelSpec]) -> tuple[ModelSpec, ...]:
    """Models whose results have names of their own: folders of one name get their parents' too.

    One folder may come several times, with other options; its revisions tell those apart.
    """
    folders = {model.folder.resolve() for model in models if model.folder and not model.name}
    names = {folder: folder_name(folder) for folder in folders}
    for more in range(1, 1 + max((len(folder.parts) for folder in folders), default=0)):
        counts = Counter(names.values())
        for folder, name in names.items():
            if counts[name] > 1:
                names[folder] = folder_name(folder, more)
    return tuple(
        replace(model, name=names[model.folder.resolve()])
        if model.folder and not model.name
        else model
        for model in models
    )


def jobs_of(
    plan: Plan,
    units: Iterable[Unit],
    store: Store,
    *,
    device: str | None = None,
    command: Sequence[str] = (),
) -> list[Job]:
    """The jobs of the units of a plan."""
    from mteb_ext.running.worker import Job

    return [
        Job(
            unit.model,
            plan.models[unit.model],
            unit.tasks,
            plan.options,
            store,
            device,
            tuple(command),
        )
        for unit in units
    ]
