"""Prepare a task for mteb's own repository: the files of a pull request, checked by a stock mteb.

``python scripts/upstream.py JACSTS -o upstream/JACSTS`` writes

- ``dataset/``: the evaluated rows in the hub's layout, parquet files and the card README.md;
- ``mteb/tasks/``: the task, of mteb's own base classes;
- ``mteb/descriptive_stats/``: its statistics, as mteb computes them;
- ``CHECK.md``: our scores beside those of mteb on this folder, in a process without this package.

Nothing is uploaded. Data that may not be passed on is not written, and a folder whose scores differ
is not left behind. ``--statistics`` computes the statistics that ship with this package anew.
docs/UPSTREAMING.md says what mteb's maintainers ask for, and where each task stands.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import mteb
from datasets import disable_progress_bars
from default_model import default_model
from upstream_writing import ACCOUNT, REVISION, stock_key, write

from mteb_ext.bases import PaperRanking, PaperSTS, PaperTask
from mteb_ext.errors import MtebExtError, ProtocolError
from mteb_ext.plugin.discovery import own_tasks
from mteb_ext.plugin.lookup import paper_task

TOLERANCE = 1e-5  # mteb rounds MAP to five decimals
LIMITS = {
    PaperSTS: (
        "Cross-encoders: mteb's STS tasks take encoders only.",
        "Equal texts: mteb encodes the two columns one after the other, so that the embeddings of "
        "a text can differ in their last bits from batch to batch, and cosines that tie do not.",
        "Zero vectors: mteb gives 0.5 to one beside another vector, and 1 to two of them; here 0.",
    ),
    PaperRanking: (
        "Ties: mteb puts equal scores in descending order of the candidates' identifiers. Here the "
        "score is the expected value over all orders, between `map_worst` and `map_best`.",
        "Similarity: mteb ranks by the model's own, here it is the cosine.",
        "Rounding: mteb's MAP has five decimals.",
    ),
}


def check_terms(task: type[PaperTask]) -> str:
    """What has to be settled before the data of a task is uploaded; empty if nothing has.

    Raises:
        ProtocolError: If the data may not be passed on.
    """
    if task.withheld or not (task.has_open_licence() or task.ask_first):
        reason = task.withheld or f"its licence is {task.metadata.license!r}, which is not open"
        raise ProtocolError(
            f"{task.metadata.name} is not written: {reason}. Everybody gets the data from "
            f"{task.metadata.reference}; see docs/UPSTREAMING.md."
        )
    return task.ask_first


@dataclass(frozen=True)
class Row:
    """One score of ours beside mteb's.

    Attributes:
        name: The subset and the key.
        ours: Our score.
        stock: mteb's.
        low: The least that an order of equal scores could make of ours.
        high: The most.
    """

    name: str
    ours: float
    stock: float
    low: float
    high: float

    @property
    def agrees(self) -> bool:
        """Whether mteb's score is one that our protocol's could be under some order of ties."""
        return self.low - TOLERANCE <= self.stock <= self.high + TOLERANCE


def compare(task: type[PaperTask], ours: Mapping[str, Any], stock: Mapping[str, Any]) -> list[Row]:
    """The headline of each subset, and their mean.

    Args:
        task: Our task.
        ours: Its scores by split, a list of one mapping a subset, as mteb's results have them.
        stock: Those of the written task.
    """
    key = task.protocol.headline
    rows = []
    for split, subsets in ours.items():
        theirs = {scores["hf_subset"]: scores for scores in stock[split]}
        for scores in subsets:
            name, value = scores["hf_subset"], scores[key]
            low, high = scores.get(f"{key}_worst", value), scores.get(f"{key}_best", value)
            there = theirs[name][stock_key(task, key)]
            rows.append(Row(f"{split}, {name}", value, there, low, high))
    columns = zip(*((row.ours, row.stock, row.low, row.high) for row in rows), strict=True)
    return [*rows, Row("task", *(math.fsum(column) / len(rows) for column in columns))]


def check(task: type[PaperTask], folder: Path, model: str) -> list[Row]:
    """Run both on one model, and write CHECK.md.

    Raises:
        MtebExtError: If mteb fails on the folder, or its scores are others.
    """
    from sentence_transformers import SentenceTransformer

    loaded = SentenceTransformer(model, device="cpu")
    [ours] = mteb.evaluate(loaded, task(), cache=None, show_progress_bar=False)
    stock = _stock_scores(folder, model)
    rows = compare(task, ours.scores, stock)
    name = task.metadata.name
    if wrong := [row for row in rows if not row.agrees]:
        raise MtebExtError(
            f"{name}: mteb on the written folder gives other scores than this package: "
            + "; ".join(f"{row.name}: {row.stock} and {row.ours}" for row in wrong)
        )
    (folder / "CHECK.md").write_text(_report(task, rows, stock), encoding="utf-8", newline="\n")
    return rows


def _stock_scores(folder: Path, model: str) -> dict[str, Any]:
    with TemporaryDirectory() as work:
        scores = Path(work) / "scores.json"
        program = Path(__file__).with_name("upstream_check.py")
        done = subprocess.run(
            [sys.executable, "-I", program, folder, model, scores],
            env={
                **os.environ,
                "MTEB_EXT_DISABLE": "1",
                "HF_HUB_OFFLINE": "1",
                "HF_DATASETS_CACHE": work,
            },
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise MtebExtError(f"mteb cannot run the written task:\n{done.stderr[-2000:]}")
        return json.loads(scores.read_text("utf-8"))


def _report(task: type[PaperTask], rows: list[Row], stock: Mapping[str, Any]) -> str:
    key, there = task.protocol.headline, stock_key(task, task.protocol.headline)
    lines = [
        f"# {task.metadata.name}: this package and a stock mteb {mteb.__version__}",
        "",
        f"| | `{key}` here | `{there}` of mteb | difference |",
        "| --- | ---: | ---: | ---: |",
        *(f"| {r.name} | {r.ours} | {r.stock} | {r.stock - r.ours:.1e} |" for r in rows),
        "",
        "What mteb cannot express:",
        "",
        *(f"- {limit}" for limit in limits(task)),
    ]
    if there == "cosine_pearson":
        usual = [scores["cosine_spearman"] for subsets in stock.values() for scores in subsets]
        lines += [
            "",
            "mteb's STS tasks have `cosine_spearman` as main score, this one `cosine_pearson`. By "
            f"`cosine_spearman` its score would be {math.fsum(usual) / len(usual)}.",
        ]
    return "\n".join(lines) + "\n"


def limits(task: type[PaperTask]) -> list[str]:
    """Where a task of mteb's own classes falls short of the protocol."""
    key = task.protocol.headline
    if issubclass(task, PaperSTS):
        facts = [one for subsets in task.protocol.facts.values() for one in subsets.values()]
        parts = dict.fromkeys(part for one in facts for part in one.parts)
        second = [f"Part of the pairs: `{key}_{part}` has no place." for part in parts]
        return [*LIMITS[PaperSTS], *second]
    also = task.protocol.also
    where = f"`{key}_{also.name}`, over questions with {also.keep.value}" if also else ""
    return [*LIMITS[PaperRanking], *([f"Second average: {where}, has no place."] if also else [])]


@contextmanager
def put_in_place(output: Path) -> Iterator[Path]:
    """A folder to write into, which becomes the output when everything has gone well.

    Raises:
        MtebExtError: If the output is there already.
    """
    if output.exists():
        raise MtebExtError(f"{output} is there already, and nothing was written. Remove it first.")
    output.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=".upstream-", dir=output.parent) as work:
        folder = Path(work) / "folder"
        folder.mkdir()
        yield folder
        folder.rename(output)


def main() -> None:
    """Write one task, or compute the statistics that ship."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("task", nargs="?", help="a task of this package or of a plugin")
    parser.add_argument("-o", "--output-folder", type=Path, metavar="DIR", help="must not exist")
    parser.add_argument("--model", help="a sentence-transformers folder (all-MiniLM-L6-v2)")
    parser.add_argument("--statistics", action="store_true", help="of TASK, or of all public tasks")
    arguments = parser.parse_args()
    if not arguments.statistics and not (arguments.task and arguments.output_folder):
        parser.error("name a task and an output folder, or --statistics")
    disable_progress_bars()
    try:
        if arguments.statistics:
            keep_statistics(arguments.task)
        else:
            prepare(arguments.task, arguments.output_folder, arguments.model)
    except MtebExtError as error:
        raise SystemExit(f"upstream: {error}") from None


def keep_statistics(name: str | None) -> None:
    """Compute the statistics of a task, or of all public tasks of this package, and keep them."""
    public = (task for task in own_tasks() if task.metadata.is_public)
    for task in [paper_task(name)] if name else public:
        task().calculate_descriptive_statistics(overwrite_results=True)
        print(task.metadata.descriptive_stat_path)


def prepare(name: str, output: Path, model: str | None) -> None:
    """Write a task, check it, put it in place, and say what comes next."""
    task = paper_task(name)
    terms = check_terms(task)
    with put_in_place(output) as folder:
        write(task, folder, terms)
        check(task, folder, model or default_model())
    print((output / "CHECK.md").read_text("utf-8"))
    print(f"Written: {output}")
    print(terms or f"Licence: {task.metadata.license}.")
    print(
        f"Upload {output / 'dataset'} to the hub, then put account and commit in the place of "
        f"{ACCOUNT} and {REVISION} in the task file."
    )


if __name__ == "__main__":
    main()
