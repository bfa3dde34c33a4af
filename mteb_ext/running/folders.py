"""What a model folder holds: its kind, and the name and revision by which its results are known.

Nothing here loads a model or runs code of the folder; small JSON files are read.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from mteb_ext.errors import ModelError

Kind: TypeAlias = Literal["sentence-transformer", "sparse", "cross-encoder", "multi-vector"]
KINDS: tuple[Kind, ...] = get_args(Kind)

_BY_MODEL_TYPE: Mapping[str, Kind] = {
    "SentenceTransformer": "sentence-transformer",
    "SparseEncoder": "sparse",
    "CrossEncoder": "cross-encoder",
    "MultiVectorEncoder": "multi-vector",
    "ColBERT": "multi-vector",  # as PyLate saves it
}
# What sentence-transformers can make of a transformers model whose class ends like this, without
# adding a layer that nobody has trained. Where there are two, only the user knows.
_BY_ARCHITECTURE: tuple[tuple[str, tuple[Kind, ...]], ...] = (
    ("ForSequenceClassification", ("cross-encoder", "sentence-transformer")),
    ("ForMaskedLM", ("sentence-transformer", "sparse")),
    ("ForCausalLM", ("sentence-transformer", "cross-encoder")),
    ("HF_ColBERT", ("multi-vector",)),
    ("ForRetrieval", ("multi-vector",)),
)
_UNAMBIGUOUS = ("ForSequenceClassification",)  # its first kind is what the head is for
_TRUSTED_MODULES = ("sentence_transformers.", "pylate.")  # PyLate's are loaded by the former's own

# Names that training scripts give to every model, and those of the hub's cache: they say nothing.
_NAMELESS = re.compile(
    r"(?:(?:model|checkpoint|output|result|export|snapshot|epoch|step|final|best|last|latest)s?"
    r"|hf|[-_.\d]|[0-9a-f]{40})+",
    re.IGNORECASE,
)
_IRRELEVANT = re.compile(r"\..*|__pycache__|checkpoint-\d+|README\.md", re.IGNORECASE)


def kind_of_folder(folder: Path, asked: Kind | None = None) -> Kind:
    """Which kind of model a folder holds, by what its own files say.

    In this order: ``model_type`` in ``config_sentence_transformers.json``, the classes in
    ``modules.json``, ``architectures`` in ``config.json``.

    Args:
        folder: The folder.
        asked: The kind that the user names; needed where the files allow two.

    Raises:
        ModelError: If there is no model, if its files allow two kinds and none is asked for, or if
            it cannot be run as the kind that is asked for.
    """
    declared = _declared_kind(folder)
    if declared is not None:
        if asked not in {None, declared}:
            raise ModelError(
                f"{folder} declares itself a {declared} model and cannot be run as {asked}: leave "
                "the kind out."
            )
        return declared
    architecture = _architecture(folder)
    possible = _possible_kinds(architecture)
    if asked is None:
        if len(possible) > 1 and not architecture.endswith(_UNAMBIGUOUS):
            raise ModelError(
                f"{folder} holds a plain {architecture}, which can be run in {len(possible)} ways: "
                f"say {' or '.join(f'--kind {kind}' for kind in possible)}."
            )
        return possible[0]
    if asked == "cross-encoder" and architecture.endswith("Model"):
        raise ModelError(
            f"{folder} holds a {architecture} without a classification head. As a cross-encoder it "
            "would get one of random weights, and its scores would mean nothing."
        )
    if asked not in possible:
        raise ModelError(
            f"{folder} holds a {architecture or 'model of unknown class'}; run as {asked} it would "
            f"get layers of random weights. It can be run as {' or '.join(possible)}."
        )
    return asked


def needs_own_code(folder: Path) -> bool:
    """Whether ``modules.json`` names classes that do not come with sentence-transformers."""
    return any(not name.startswith(_TRUSTED_MODULES) for name in _module_classes(folder))


def folder_name(folder: Path, more: int = 0) -> str:
    """The name under which results of a folder are kept: ``local/`` and what people call it.

    The folder's own name; where that says nothing, with its parents' in front (``run1/model`` is
    ``local/run1-model``).

    Args:
        folder: The folder.
        more: How many more parents to name, where two folders would have one name.
    """
    parts = folder.resolve().parts[1:]
    telling = [i for i, part in enumerate(parts) if not _NAMELESS.fullmatch(part)]
    first = max(0, (telling[-1] if telling else 0) - more)
    name = re.sub(r"[^\w.+=-]+|__+", "_", "-".join(parts[first:]))
    return f"local/{name.strip('_') or 'model'}"


def folder_revision(folder: Path, options: Mapping[str, object]) -> str:
    """A digest of what decides the scores of a model in a folder.

    Args:
        folder: The folder. Hidden files, ``README.md``, ``__pycache__`` and the ``checkpoint-N``
            folders of a training that wrote there do not count.
        options: What else changes scores, such as the kind and the prompts.

    Returns:
        16 hexadecimal digits.

    Raises:
        ModelError: If a file cannot be read.
    """
    digest = hashlib.sha256(json.dumps(options, sort_keys=True, default=str).encode())
    for file in sorted(_files(folder), key=lambda path: path.relative_to(folder).as_posix()):
        try:
            with file.open("rb") as content:
                content_digest = hashlib.file_digest(content, "sha256").digest()
        except OSError as error:
            raise ModelError(f"{file} cannot be read: {error.strerror or error}.") from error
        digest.update(file.relative_to(folder).as_posix().encode() + b"\0" + content_digest)
    return digest.hexdigest()[:16]


def _declared_kind(folder: Path) -> Kind | None:
    model_type = str(_json(folder / "config_sentence_transformers.json", {}).get("model_type"))
    if model_type in _BY_MODEL_TYPE:
        return _BY_MODEL_TYPE[model_type]
    classes = _module_classes(folder)
    plain = all(name.endswith(".Transformer") for name in classes)
    if not classes or (plain and (folder / "config.json").is_file()):
        return None  # nothing that sentence-transformers adds: its architecture says more
    for part, kind in (
        ("sparse_encoder", "sparse"),
        ("multi_vector", "multi-vector"),
        ("cross_encoder", "cross-encoder"),
    ):
        if any(part in name for name in classes):
            return kind  # type: ignore[return-value]  # mypy widens the tuple's strings
    return "sentence-transformer"


def _module_classes(folder: Path) -> list[str]:
    modules = _json(folder / "modules.json", [])
    return [str(module.get("type", "")) for module in modules if isinstance(module, dict)]


def _architecture(folder: Path) -> str:
    config = folder / "config.json"
    if not config.is_file():
        inside = sorted(path.parent.name for path in folder.glob("*/config.json"))
        hint = f" Is it in {', '.join(inside[:5])} inside?" if inside else ""
        raise ModelError(
            f"{folder} holds no model: it has neither modules.json (sentence-transformers) nor "
            f"config.json (transformers).{hint}"
        )
    architectures = _json(config, {}).get("architectures") or [""]
    return str(architectures[0])


def _possible_kinds(architecture: str) -> tuple[Kind, ...]:
    for ending, kinds in _BY_ARCHITECTURE:
        if architecture.endswith(ending):
            return kinds
    return ("sentence-transformer",)


def _json(path: Path, default: Any) -> Any:  # noqa: ANN401 - whatever the file holds
    if not path.is_file():
        return default
    try:
        content = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"{path} is damaged ({error}). Save the model again.") from error
    if not isinstance(content, type(default)):
        raise ModelError(
            f"{path} is damaged: it holds a {type(content).__name__}, expected a "
            f"{type(default).__name__}. Save the model again."
        )
    return content


def _files(folder: Path) -> Iterator[Path]:
    for where, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not _IRRELEVANT.fullmatch(name)]
        yield from (Path(where, name) for name in names if not _IRRELEVANT.fullmatch(name))
