"""Plan files: a run as TOML, which ``--save-plan`` writes and ``--plan`` reads."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from mteb_ext.errors import RunError
from mteb_ext.files import is_folder
from mteb_ext.names import did_you_mean
from mteb_ext.running.models import ModelSpec
from mteb_ext.running.plan import Options, Plan


def write_plan(plan: Plan) -> str:
    """The text of a plan file. Revisions are pinned, and folders named by their full paths."""
    models = [
        replace(
            model,
            model=str(model.folder.resolve()) if model.folder else model.model,
            revision=str(model.meta.revision),
        )
        for model in plan.models
    ]
    lines = [
        "# A run of mteb-ext; to repeat it: mteb-ext run --plan FILE",
        f"tasks = {_toml(plan.tasks)}",
        *_lines(asdict(plan.options)),
    ]
    for model in models:
        lines += ["", "[[models]]", *_lines(asdict(model))]
    return "\n".join(lines) + "\n"


def read_plan(path: Path) -> Plan:
    """Read a plan file. Relative folders in it are looked for beside the file.

    Raises:
        RunError: If the file is missing, is not TOML, or has unknown or invalid fields.
    """
    try:
        with path.open("rb") as file:  # as text, Python would take other line ends for newlines
            data = tomllib.load(file)
    except (OSError, ValueError, RecursionError) as error:
        raise RunError(f"{path} is no readable plan: {error}") from error
    models, tasks = data.pop("models", []), data.pop("tasks", [])
    try:
        plan = _PLAN.validate_python({"models": models, "tasks": tasks, "options": data})
    except ValidationError as error:
        raise RunError(f"{path}: {_fault(error)}") from error
    return replace(plan, models=tuple(_beside(path, model) for model in plan.models))


_PLAN = TypeAdapter(Plan)
_FIELDS = {
    "models": [field.name for field in fields(ModelSpec)],
    "options": ["tasks", *(field.name for field in fields(Options))],
}


def _fault(error: ValidationError) -> str:
    """The first fault, as a sentence with the place in the file."""
    first = error.errors(include_url=False)[0]
    place = [str(part) for part in first["loc"]]
    table, key = place[0], place[-1]
    if first["type"] == "unexpected_keyword_argument":
        return f"there is no {key!r} in a plan.{did_you_mean(key, _FIELDS[table])}"
    if key in _NEEDED:
        return f"a plan needs {_NEEDED[key]}."
    where = ".".join(part for part in place if part != "options")
    reason = first["msg"].replace("tuple", "list")
    return f"{where} is {first['input']!r:.80}. {reason}."


_NEEDED = {
    "models": "a table [[models]] for each model",
    "model": 'model = "…", a name or a folder, in each [[models]]',
    "tasks": 'tasks = ["…"]',
}


def _beside(path: Path, model: ModelSpec) -> ModelSpec:
    """The model; where its name is a folder beside the file, that folder."""
    beside = path.parent / model.model
    return replace(model, model=str(beside)) if is_folder(beside) else model


def _lines(values: Mapping[str, Any]) -> Iterable[str]:
    """A line a value; None and what is empty are left out, as they are where a line is missing."""
    return [
        f"{key} = {_toml(value)}" for key, value in values.items() if value not in (None, (), {})
    ]


def _toml(value: Any) -> str:  # noqa: ANN401 - whatever a plan holds
    if isinstance(value, Mapping):
        inside = ", ".join(f"{_toml(str(key))} = {_toml(v)}" for key, v in value.items())
        return f"{{ {inside} }}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_toml, value))}]"
    if value is None:
        raise RunError("TOML has no null, so that model_kwargs with one cannot be saved.")
    if isinstance(value, str):  # JSON's escapes are TOML's, where no half of a pair is written
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return json.dumps(value)
