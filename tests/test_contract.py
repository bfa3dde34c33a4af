"""Every private thing of mteb that this package touches, in one list.

Where a release of mteb renames one, the test that names it fails, and the list says where to look.
"""

from __future__ import annotations

import ast
import importlib
import re
from operator import attrgetter
from pathlib import Path

import mteb
import pytest
from mteb.models import ModelMeta

import mteb_ext
from mteb_ext import tasks
from mteb_ext.baselines import MODEL_METAS
from mteb_ext.bases import PaperRanking, PaperSTS, PaperTask

BASELINES = [meta.name for meta in MODEL_METAS]

# Filled, wrapped or read by plugin/registries.py, which says in one sentence what is missing.
REGISTRIES = [
    "mteb.get_tasks:_TASKS_REGISTRY",
    "mteb.get_tasks:TASK_LIST",
    "mteb.models.model_meta:_collect_similar_tasks",
    "mteb.models.model_implementations:MODEL_REGISTRY",
    "mteb.cache.result_cache:ResultCache._get_unsubmitted_results",
    "mteb.benchmarks.benchmarks:MTEB_EN",  # found by scanning the module's attributes
    "mteb.benchmarks.get_benchmark:_build_registry.cache_clear",
    "mteb.benchmarks._leaderboard_menu:GP_BENCHMARK_ENTRIES",
    "mteb.benchmarks._leaderboard_menu:HOME_BENCHMARK_ENTRIES",
    "mteb.benchmarks._leaderboard_menu:MenuEntry",
    "mteb.cli.build_cli:run",
    "mteb.cli.build_cli:generate_model_card",
]
# What the bases override or call, by the class of mteb that has it.
BASES = [
    "mteb.abstasks:AbsTask._support_cross_encoder",
    "mteb.abstasks:AbsTask._evaluate_subset",
    "mteb.abstasks:AbsTask._save_task_predictions",
]


@pytest.mark.parametrize("name", [*REGISTRIES, *BASES])
def test_mteb_has_it(name):
    module, _, path = name.partition(":")
    assert attrgetter(path)(importlib.import_module(module)) is not None


def of_mteb(cls):
    return cls.__module__.partition(".")[0] == "mteb"


def is_private(name):
    return name.startswith("_") and not name.startswith("__")


def nodes():
    folders = [Path(mteb_ext.__file__).parent, *map(Path, tasks.__path__)]
    for file in {file.resolve() for folder in folders for file in folder.rglob("*.py")}:
        yield from ast.walk(ast.parse(file.read_text("utf-8")))


def read_as_attributes():
    """The private names that the source reads as attributes of whatever it is."""
    return {n.attr for n in nodes() if isinstance(n, ast.Attribute) and is_private(n.attr)}


def taken_from_mteb():
    """What the source imports of mteb that is private, or gives to ``registries._private``."""
    for node in nodes():
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "_private":
            yield from (a.value for a in node.args if isinstance(a, ast.Constant))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("mteb."):
            yield from (a.name for a in node.names if is_private(a.name))
            yield from filter(is_private, node.module.split("."))
        elif isinstance(node, ast.Import):
            names = [a.name for a in node.names if a.name.startswith("mteb.")]
            yield from (part for name in names for part in name.split(".") if is_private(part))


def test_the_list_is_whole():
    ours = [PaperTask, PaperSTS, PaperRanking, *(type(m) for m in map(mteb.get_model, BASELINES))]
    bases = {base for cls in ours for base in cls.__mro__ if of_mteb(base)}
    bases |= {mteb.ResultCache, mteb.TaskResult, mteb.BenchmarkResults, mteb.Benchmark, ModelMeta}
    theirs = {name for base in bases for name in vars(base)}
    overridden = {n for cls in ours for n in vars(cls) if is_private(n) and n in theirs}
    called = read_as_attributes() & theirs
    parts = {part for name in (*REGISTRIES, *BASES) for part in re.split("[.:]", name)}
    assert overridden | called | set(taken_from_mteb()) <= parts | {"_abc_impl"}
