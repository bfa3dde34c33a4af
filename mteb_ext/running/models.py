"""Models by name or from a folder: ``mteb_ext.load_model``."""

from __future__ import annotations

import logging
import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import ConfigDict, Field

from mteb_ext.errors import ModelError, MtebExtError, error_line
from mteb_ext.files import is_folder
from mteb_ext.names import did_you_mean, file_name_fault
from mteb_ext.running.folders import (
    Kind,
    folder_name,
    folder_revision,
    kind_of_folder,
    needs_own_code,
    with_saved_prompts,
)

if TYPE_CHECKING:
    from mteb.models import ModelMeta, MTEBModels

logger = logging.getLogger(__name__)

_NAME = re.compile(r"\w[^/\s]*/\w[^/\s]*")
_REVISION = re.compile(r"(?!\.+$)[\w.+=-]+")
_TRUST = (
    "needs code that comes with the model. Look at it, and say --trust-remote-code "
    "(trust_remote_code=True) to run it."
)


@dataclass(frozen=True)
class ModelSpec:
    """A model as a run names it: everything that decides which model it is.

    Attributes:
        model: A folder, or a name that mteb's registry or the Hugging Face hub knows.
        kind: The kind of a folder's model, if its files allow several.
        name: The name of a folder's results; made from its path by default.
        revision: The revision of a named model; the digest that a folder must have.
        trust_remote_code: Whether code that comes with the model may run.
        model_kwargs: Further arguments of the model's class or of mteb's loader.
        prompts: Text put before queries and documents, by mteb's keys (``"query"``,
            ``"document"``, a task's name, …).
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    model: str
    kind: Kind | None = None
    name: str | None = None
    revision: str | None = None
    trust_remote_code: Annotated[bool, Field(strict=True)] = False
    model_kwargs: Mapping[str, Any] = field(default_factory=dict)
    prompts: Mapping[str, str] = field(default_factory=dict)

    @property
    def folder(self) -> Path | None:
        """The folder, where the model is in one."""
        path = Path(self.model).expanduser()
        return path if is_folder(path) else None

    @cached_property
    def meta(self) -> ModelMeta:
        """The name and revision of the model's results; nothing is loaded.

        Raises:
            ModelError: If there is no such model.
        """
        self.check()
        return self._meta_of_folder(self.folder) if self.folder else self._meta_of_name()

    def check(self) -> None:
        """Cheap checks of the model.

        Raises:
            ModelError: If the model cannot exist, or the user must name its kind.
        """
        _check_prompts(self.prompts)
        if not self.trust_remote_code and _asks_for_trust(self.model_kwargs):
            raise ModelError(
                f"{self.model}: its model_kwargs set trust_remote_code. The model {_TRUST}"
            )
        if self.name is not None:
            _check_name(self.name)
        if self.revision is not None and not _REVISION.fullmatch(self.revision):
            raise ModelError(
                f"{self.model}: the revision {self.revision!r} cannot be the name of a folder of "
                "results. Name the commit."
            )
        if self.folder:
            _check_folder_name(self.model)
            _warn_of_namesake(self.model)
            kind_of_folder(self.folder, self.kind)
            if needs_own_code(self.folder) and not self.trust_remote_code:
                raise ModelError(f"{self.folder} {_TRUST}")
            return
        self._check_that_it_can_be_a_name()
        if self._loader_options() and _is_lexical(self.model):
            raise ModelError(
                f"{self.model} is all code and has no options: leave out what was given as "
                "--model-kwargs, --dtype or --prompt, which would change nothing but the name of "
                "its results."
            )
        if self.kind is not None or self.name is not None:
            raise ModelError(
                f"there is no folder {self.model} (seen from {Path.cwd()}). A kind or a name of "
                "results was given, so the model must be in a folder."
            )

    def load(self, device: str | None = None) -> Any:  # noqa: ANN401 - one of mteb's protocols
        """Load the model.

        Raises:
            ModelError: If it cannot be loaded, or some of its weights would be random.
        """
        meta = self.meta
        _check_device(device)
        if self.folder is None:
            return self._load_by_name(meta, device)
        model = self._load_folder(self.folder, device)
        if meta.revision != self._revision_of_folder(self.folder):
            raise ModelError(
                f"{self.folder} changed after the run looked at it: other weights may have been "
                "loaded. Run again once nothing writes there."
            )
        identity = {"name": meta.name, "revision": meta.revision}
        model.mteb_model_meta = model.mteb_model_meta.model_copy(update=identity)
        return model

    def _meta_of_folder(self, folder: Path) -> ModelMeta:
        from mteb.models import ModelMeta

        revision = self._revision_of_folder(folder)
        if self.revision not in {None, revision}:
            raise ModelError(
                f"{folder} is at revision {revision}, and {self.revision} is asked for: its files, "
                "or the options that change scores, are others."
            )
        name = self.name or folder_name(folder)
        return ModelMeta.create_empty(overwrites={"name": name, "revision": revision})

    def _revision_of_folder(self, folder: Path) -> str:
        options = {
            "kind": kind_of_folder(folder, self.kind),
            "model_kwargs": dict(self.model_kwargs),
            "prompts": with_saved_prompts(folder, self.prompts),
        }
        return folder_revision(folder, options)

    def _meta_of_name(self) -> ModelMeta:
        import mteb
        from mteb.models.model_implementations import MODEL_REGISTRY

        try:
            meta = mteb.get_model_meta(self.model, self.revision, fetch_from_hf=True)
        except ValueError as error:  # another revision than the registry's
            raise ModelError(str(error)) from None
        except Exception as error:
            raise self._not_found() from error
        if meta.loader is None:
            raise self._not_found()
        update: dict[str, Any] = {}
        if self.trust_remote_code and meta.name not in MODEL_REGISTRY:
            update["loader_kwargs"] = {**meta.loader_kwargs, "trust_remote_code": True}
        if options := self._loader_options():
            update["experiment_kwargs"] = {**(meta.experiment_kwargs or {}), **options}
        return meta.model_copy(update=update)

    def _loader_options(self) -> dict[str, Any]:
        prompts = {"model_prompts": dict(self.prompts)} if self.prompts else {}
        return {**self.model_kwargs, **prompts}

    def _check_that_it_can_be_a_name(self) -> None:
        path = Path(self.model).expanduser()
        with suppress(OSError):  # of a name that no file can have
            if path.exists():
                raise ModelError(f"{self.model} is a file; a model is a folder or a name.")
        if path.is_absolute() or self.model.startswith((".", "~")) or self.model.count("/") > 1:
            raise ModelError(f"there is no folder {self.model}.")

    def _not_found(self) -> ModelError:
        from mteb.models.model_implementations import MODEL_REGISTRY

        return ModelError(
            f"there is no model {self.model!r}: no such folder, no such name in mteb, and none for "
            f"which the Hugging Face hub answers.{did_you_mean(self.model, MODEL_REGISTRY)}"
        )

    def _load_by_name(self, meta: ModelMeta, device: str | None) -> MTEBModels:
        with (
            _as_model_error(f"{self.model} cannot be loaded"),
            _no_random_weights(self.model, self.kind),
        ):
            return meta.load_model(device=device)

    def _load_folder(self, folder: Path, device: str | None) -> Any:  # noqa: ANN401 - mteb's wrapper
        kind = kind_of_folder(folder, self.kind)
        with (
            _as_model_error(f"{folder} cannot be loaded as a {kind} model"),
            _no_random_weights(str(folder), kind),
        ):
            prompts = with_saved_prompts(folder, self.prompts)
            return _wrap(kind, self._open(kind, folder, device), prompts)

    def _open(self, kind: Kind, folder: Path, device: str | None) -> Any:  # noqa: ANN401
        import sentence_transformers

        name = {
            "sentence-transformer": "SentenceTransformer",
            "sparse": "SparseEncoder",
            "cross-encoder": "CrossEncoder",
            "multi-vector": "MultiVectorEncoder",
        }[kind]
        if not hasattr(sentence_transformers, name):
            raise ModelError(
                f"{folder} holds a {name}, which sentence-transformers "
                f"{sentence_transformers.__version__} does not have: upgrade it."
            )
        return getattr(sentence_transformers, name)(
            str(folder),
            device=device,
            trust_remote_code=self.trust_remote_code,
            **self.model_kwargs,
        )


def load_model(
    folder_or_name: str | Path,
    *,
    kind: Kind | None = None,
    name: str | None = None,
    revision: str | None = None,
    device: str | None = None,
    trust_remote_code: bool = False,
    model_kwargs: Mapping[str, Any] | None = None,
    prompts: Mapping[str, str] | None = None,
) -> MTEBModels:
    """Load a model from a folder, or by a name as ``mteb.get_model`` does.

    A folder's model is run as what its files say it is, and gets a name and a revision of its own,
    so that mteb never takes one local model's cached results for another's. The revision is a
    digest of the files, the kind, the options and the prompts.

    Args:
        folder_or_name: A sentence-transformers or transformers folder; or a model's name.
        kind: ``"sentence-transformer"``, ``"sparse"``, ``"cross-encoder"`` or ``"multi-vector"``,
            where the folder's files allow several.
        name: Name of the results, ``"local/…"`` from the path where left out.
        revision: Revision of a named model; for a folder, the digest that it must have.
        device: For example ``"cpu"`` or ``"cuda:1"``; the best there is where left out.
        trust_remote_code: Whether code that comes with the model may run.
        model_kwargs: Further arguments of the model's class or of mteb's loader.
        prompts: Text put before queries and documents, by mteb's keys.

    Returns:
        A model that ``mteb.evaluate`` takes.

    Raises:
        ModelError: If there is no such model, it cannot be loaded, or some of its weights would be
            random, as the head of a cross-encoder made from a plain encoder.

    Examples:
        >>> import mteb_ext
        >>> mteb_ext.load_model("mteb-ext/token-cosine").mteb_model_meta.name
        'mteb-ext/token-cosine'
    """
    spec = ModelSpec(
        str(folder_or_name),
        kind=kind,
        name=name,
        revision=revision,
        trust_remote_code=trust_remote_code,
        model_kwargs=model_kwargs or {},
        prompts=prompts or {},
    )
    model: MTEBModels = spec.load(device)
    return model


def _wrap(kind: Kind, model: Any, prompts: Mapping[str, str]) -> Any:  # noqa: ANN401
    """Put mteb's wrapper around a model, as ``mteb.evaluate`` would, with prompts."""
    import mteb.models

    if kind == "cross-encoder":
        if unknown := sorted(set(prompts) - {"query", "document"}):
            raise ModelError(f"a cross-encoder has prompts for query and document, not {unknown}.")
        return mteb.models.CrossEncoderWrapper(
            model,
            query_prefix=prompts.get("query", ""),
            passage_prefix=prompts.get("document", ""),
        )
    wrapper = {
        "sentence-transformer": "SentenceTransformerEncoderWrapper",
        "sparse": "SparseEncoderWrapper",
        "multi-vector": "MultiVectorWrapper",
    }[kind]
    if prompts:
        model.prompts = dict(prompts)  # where the wrapper looks for them
    return getattr(mteb.models, wrapper)(model)


def _asks_for_trust(options: Any) -> bool:  # noqa: ANN401 - whatever a plan holds
    """Whether options, or options in them, let code that comes with a model run."""
    if isinstance(options, Mapping):
        named = any(key == "trust_remote_code" and value for key, value in options.items())
        return named or any(map(_asks_for_trust, options.values()))
    return isinstance(options, (list, tuple)) and any(map(_asks_for_trust, options))


def _is_lexical(name: str) -> bool:
    """Whether a model is one of this package's, which are all code."""
    from mteb_ext.baselines import MODEL_METAS

    return name in {meta.name for meta in MODEL_METAS}


def _check_name(name: str) -> None:
    """Refuse a name under which no command would find the results.

    Raises:
        ModelError: If the name is one.
    """
    fault = next(filter(None, map(file_name_fault, name.split("/"))), None)
    if fault or not _NAME.fullmatch(name):
        reason = (
            fault or "an organisation and a model are needed, each beginning with a letter or digit"
        )
        raise ModelError(f"the name {name!r} is not like organisation/model: {reason}.")


def _check_folder_name(model: str) -> None:
    """Refuse a folder that safetensors and tokenizers could not open.

    Raises:
        ModelError: If its name is no UTF-8.
    """
    try:
        model.encode()
    except UnicodeEncodeError:
        raise ModelError(
            f"the name of the model's folder, {model!a}, is no UTF-8, and the libraries that "
            "load weights open no such folder. Rename it, or give a link to it."
        ) from None


@cache
def _warn_of_namesake(model: str) -> None:
    """Say once that a folder hides a model that mteb knows by the same name."""
    if not _NAME.fullmatch(model):
        return
    from mteb.models.model_implementations import MODEL_REGISTRY

    if model in MODEL_REGISTRY:
        logger.warning(
            "%s is a folder here, and the folder is run, not the model of that name in mteb's "
            "registry. Rename the folder, or start elsewhere, to run that model.",
            model,
        )


def _check_prompts(prompts: Mapping[str, str]) -> None:
    if not prompts:
        return
    from mteb.models.abs_encoder import AbsEncoder

    with warnings.catch_warnings(action="ignore"):
        valid, _ = AbsEncoder.validate_task_to_prompt_name(
            dict(prompts), raise_for_invalid_keys=False
        )
    if unknown := sorted(set(prompts) - set(valid or ())):
        raise ModelError(
            f"the prompt {unknown[0]!r} belongs to nothing: name it query, document, a task's name "
            "or type, or one of these and -query or -document."
        )


def _check_device(device: str | None) -> None:
    import torch

    try:
        if device is not None:
            torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).strip().splitlines()[0].partition(". ")[0]
        raise ModelError(f"the device {device!r} cannot be used here: {reason}.") from None


@contextmanager
def _as_model_error(what: str) -> Iterator[None]:
    """Turn whatever a loader raises into a ModelError that names the model."""
    try:
        yield
    except (MtebExtError, KeyboardInterrupt):
        raise
    except BaseException as error:  # a model's own code may call sys.exit
        reason = error_line(error)
        if "trust_remote_code" in reason:
            raise ModelError(f"{what}: the model {_TRUST}") from error
        raise ModelError(f"{what}: {reason}") from error


@contextmanager
def _no_random_weights(model: str, kind: Kind | None) -> Iterator[None]:
    """Refuse a transformers model of which a part is not in its files.

    transformers gives such a part random weights and says so in a log only. A pooler may be
    missing where token embeddings are pooled instead.

    Raises:
        ModelError: If weights are missing.
    """
    from transformers import PreTrainedModel

    original = PreTrainedModel.__dict__["from_pretrained"]
    missing: set[str] = set()

    def from_pretrained(cls: type, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        wanted = kwargs.pop("output_loading_info", False)
        loaded, info = original.__func__(cls, *args, output_loading_info=True, **kwargs)
        missing.update(info["missing_keys"])
        return (loaded, info) if wanted else loaded

    PreTrainedModel.from_pretrained = classmethod(from_pretrained)  # type: ignore[assignment]
    try:
        yield
    finally:
        PreTrainedModel.from_pretrained = original  # type: ignore[method-assign]
    if kind != "cross-encoder":
        missing = {key for key in missing if ".pooler." not in f".{key}"}
    if missing:
        raise ModelError(
            f"{model} lacks {len(missing)} of the weights that a {kind or 'model of its kind'} "
            f"needs ({min(missing)}, …); they would be random, and its scores would mean nothing."
        )
