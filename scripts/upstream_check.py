"""A stock mteb on what upstream.py has written: run in a process without this package.

``python -I scripts/upstream_check.py FOLDER MODEL SCORES`` evaluates a sentence-transformers model
with the written task file on the written data, and writes the scores of each split as JSON.
"""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mteb.abstasks import AbsTask


def stock_task(folder: Path) -> AbsTask:
    """The task of a written folder, which loads the data of that folder instead of the hub's."""
    from mteb.abstasks import AbsTask

    [file] = (folder / "mteb" / "tasks").rglob("*.py")
    [task] = (
        value()
        for value in runpy.run_path(str(file)).values()
        if isinstance(value, type) and issubclass(value, AbsTask) and "metadata" in vars(value)
    )
    here = {**task.metadata.dataset, "path": str(folder / "dataset")}
    task.metadata = task.metadata.model_copy(update={"dataset": here})
    return task


def main(folder: str, model: str, scores: str) -> None:
    """Evaluate, and write the scores."""
    import mteb
    from sentence_transformers import SentenceTransformer

    if "mteb_ext.plugin.registries" in sys.modules:
        raise SystemExit("this process has mteb_ext; set MTEB_EXT_DISABLE=1")
    task = stock_task(Path(folder))
    [result] = mteb.evaluate(SentenceTransformer(model, device="cpu"), task, cache=None)
    Path(scores).write_text(json.dumps(result.scores), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
