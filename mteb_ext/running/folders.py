"""A model folder: its kind, and the name and revision of its results.

Nothing here loads a model or runs its code. Only small JSON files are read, and digests taken.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from mteb_ext.errors import ModelError
from mteb_ext.files import sha256_of

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
# Keys under which a model's JSON files name another model. (``_name_or_path`` only says where
# weights came from.)
_REFERENCES = frozenset({"base_model_name_or_path", "model_name_or_path", "tokenizer_name_or_path"})
_LARGEST_CONFIG = 1 << 20  # bytes; tokenizers are larger, and point nowhere
_IRRELEVANT = re.compile(r"\..*|__pycache__|checkpoint-\d+|README\.md", re.IGNORECASE)


def kind_of_folder(folder: Path, asked: Kind | None = None) -> Kind:
    """The kind of model in a folder, from its own files.

    In this order: ``model_type`` in ``config_sentence_transformers.json``, the classes in
    ``modules.json``, ``architectures`` in ``config.json``.

    Args:
        folder: The folder.
        asked: The kind that the user names. Needed if the files allow two.

    Raises:
        ModelError: If there is no model, if its files allow two kinds and none is named, or if
            the model cannot run as the named kind.
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


def with_saved_prompts(folder: Path, prompts: Mapping[str, str]) -> dict[str, str]:
    """The prompts that a user gives, over those saved with a sentence-transformers model.

    Args:
        folder: The model's folder.
        prompts: By mteb's keys. If empty, the result is empty too: the model then uses its own.
    """
    if not prompts:
        return {}
    saved = _json(folder / "config_sentence_transformers.json", {}).get("prompts")
    kept = saved.items() if isinstance(saved, dict) else ()
    return {key: text for key, text in kept if isinstance(text, str) and text} | dict(prompts)


def folder_name(folder: Path, more: int = 0) -> str:
    """The name of a folder's results: ``local/`` and the folder's name.

    A name that says nothing gets its parents' in front: ``run1/model`` is ``local/run1-model``.

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
    """A digest of everything that decides the scores of a model in a folder.

    Links are followed. Local files and folders that the folder's JSON files point to, such as an
    adapter's base model, count too. A base model on the hub counts by its name and revision, which
    are part of ``adapter_config.json``.

    Args:
        folder: The folder. Hidden files, ``README.md``, ``__pycache__`` and the ``checkpoint-N``
            folders of a training do not count.
        options: Other settings that change scores, such as the kind and the prompts.

    Returns:
        16 hexadecimal digits.

    Raises:
        ModelError: If a file cannot be read.
    """
    digest = hashlib.sha256(json.dumps(options, sort_keys=True, default=str).encode())
    seen: set[Path] = set()
    waiting = [folder]
    while waiting:
        here = waiting.pop()
        if here.resolve() in seen:
            continue
        seen.add(here.resolve())
        for file in sorted(_files(here), key=lambda path: path.relative_to(here).as_posix()):
            digest.update(os.fsencode(file.relative_to(here).as_posix()) + b"\0" + _sha256(file))
            waiting += _references(file, folder.resolve())
    return digest.hexdigest()[:16]


def _sha256(file: Path) -> bytes:
    try:
        return bytes.fromhex(sha256_of(file))
    except OSError as error:
        raise ModelError(f"{file} cannot be read: {error.strerror or error}.") from error


def _references(file: Path, home: Path) -> list[Path]:
    """The files and folders outside of a model folder that one of its JSON files points to."""
    if file.suffix != ".json" or file.stat().st_size > _LARGEST_CONFIG:
        return []
    try:
        content = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return []  # named where the file is needed
    if file.name == "modules.json":
        places = [file.parent / text for text in _texts_under({"path"}, content)]
    else:  # loaders look below the working folder
        places = [Path(text) for text in _texts_under(_REFERENCES, content)]
    return [p for p in places if p.exists() and not p.resolve().is_relative_to(home)]


def _texts_under(keys: Collection[str], content: object) -> Iterator[str]:
    """The texts under some keys of the objects in a JSON value, at any depth."""
    if isinstance(content, dict):
        yield from (v for k, v in content.items() if k in keys and v and isinstance(v, str))
        content = list(content.values())
    for value in content if isinstance(content, list) else ():
        yield from _texts_under(keys, value)


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
    """The relevant files of a folder, through links; or the file itself."""
    if folder.is_file():
        yield folder
        return
    yield from _files_below(folder, frozenset())


def _files_below(folder: Path, above: frozenset[Path]) -> Iterator[Path]:
    real = folder.resolve()
    if real in above:  # a circle of links
        return
    try:
        entries = [e for e in os.scandir(folder) if not _IRRELEVANT.fullmatch(e.name)]
    except OSError as error:
        raise ModelError(f"{folder} cannot be read: {error.strerror or error}.") from error
    for entry in entries:
        if entry.is_dir():
            yield from _files_below(Path(entry.path), above | {real})
        elif entry.is_file():
            yield Path(entry.path)
        else:
            raise ModelError(f"{entry.path} is a broken link or no regular file. Remove it.")
