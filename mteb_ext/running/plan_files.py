"""Plan files: a run as TOML, which ``--save-plan`` writes and ``--plan`` reads."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from mteb_ext.errors import RunError
from mteb_ext.names import did_you_mean
from mteb_ext.running.folders import KINDS
from mteb_ext.running.models import ModelSpec
from mteb_ext.running.plan import STRATEGIES, Options, Plan


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
    models = data.pop("models", [])
    if not _is_list_of(dict)(models) or not models:
        raise RunError(f"{path} names no models: it needs a table [[models]] for each.")
    if not data.get("tasks"):
        raise RunError(f'{path} names no tasks: it needs tasks = ["…"].')
    for values, fields in ((data, _OF_PLAN), *((model, _OF_MODEL) for model in models)):
        _check(path, values, fields)
    if not all("model" in model for model in models):
        raise RunError(f'{path}: each [[models]] needs model = "…", a name or a folder.')
    tasks = tuple(data.pop("tasks"))
    options: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in data.items()
    }
    for model in models:
        beside = path.parent / model["model"]
        model["model"] = str(beside) if beside.is_dir() else model["model"]
    return Plan(tuple(ModelSpec(**model) for model in models), tasks, Options(**options))


def _is_list_of(kind: type) -> Callable[[object], bool]:
    return lambda value: isinstance(value, list) and all(isinstance(part, kind) for part in value)


def _is(kind: type) -> Callable[[object], bool]:
    return lambda value: type(value) is kind


_Fields = Mapping[str, tuple[Callable[[Any], bool], str]]

_TEXT = (_is(str), "a string")
_TRUTH = (_is(bool), "true or false")
_TEXTS = (_is_list_of(str), "a list of strings")

_OF_PLAN: _Fields = {
    "tasks": _TEXTS,
    "eval_splits": _TEXTS,
    "eval_subsets": _TEXTS,
    "batch_size": (lambda value: type(value) is int and value > 0, "a positive whole number"),
    "overwrite_strategy": (lambda value: value in STRATEGIES, f"one of {', '.join(STRATEGIES)}"),
    "predictions": _TRUTH,
}
_OF_MODEL: _Fields = {
    "model": _TEXT,
    "kind": (lambda value: value in KINDS, f"one of {', '.join(KINDS)}"),
    "name": _TEXT,
    "revision": _TEXT,
    "trust_remote_code": _TRUTH,
    "model_kwargs": (_is(dict), "a table"),
    "prompts": (
        lambda value: isinstance(value, dict) and all(map(_is(str), value.values())),
        "a table of strings",
    ),
}


def _check(path: Path, values: Mapping[str, Any], fields: _Fields) -> None:
    for key, value in values.items():
        if key not in fields:
            raise RunError(f"{path}: there is no {key!r} in a plan.{did_you_mean(key, fields)}")
        fits, expected = fields[key]
        if not fits(value):
            raise RunError(f"{path}: {key} is {value!r}, expected {expected}.")


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
