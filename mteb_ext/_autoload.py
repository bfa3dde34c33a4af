"""The post-import hook: when mteb builds one of its registries, ours are added to it.

This runs at every start of a Python that has the package installed (through ``mteb-ext.pth``, or
``mteb-ext.start`` where Python reads those). Hence three rules: standard library only, nothing
imported that is not needed, and nothing raised, whatever happens. ``MTEB_EXT_DISABLE=1`` turns it
off.
"""

from __future__ import annotations

import os
import sys

SUPPORTED_MTEB = ">=2.26,<3"

TYPE_CHECKING = False  # typing is not worth its import here; type checkers know this name
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

# Each mteb module that holds a registry, and the function of mteb_ext.registry that fills it. A
# registry is filled as soon as its own module has run, so that nothing of mteb is imported early.
_HOOKS = {
    "mteb.get_tasks": "register_tasks",
    "mteb.models.model_implementations": "register_models",
    "mteb.benchmarks.benchmarks": "register_benchmarks",
    "mteb.cli.build_cli": "register_default_model",
}


# Importing one of our own modules first imports mteb, whose registries would then be filled from a
# module of ours that is half imported. They wait until it is done.
_own_modules_loading = 0
_waiting: list[tuple[str, ModuleType]] = []


class _PostImportFinder:
    """A meta path finder that finds nothing itself: it lets the others find, then adds a hook."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in _HOOKS and not name.startswith("mteb_ext."):
            return None
        try:
            return _spec_with_hook(name, path, target)
        except Exception as error:
            _warn(error)
            return None


def _spec_with_hook(
    name: str, path: Sequence[str] | None, target: ModuleType | None
) -> ModuleSpec | None:
    for finder in list(sys.meta_path):
        if isinstance(finder, _PostImportFinder):
            continue
        spec = finder.find_spec(name, path, target)
        if spec is not None:
            if spec.loader is not None:
                hook = _fill_after if name in _HOOKS else _count_while
                spec.loader.exec_module = hook(name, spec.loader.exec_module)  # type: ignore[method-assign,assignment]
            return spec
    return None


def _fill_after(name: str, execute: Callable[[ModuleType], None]) -> Callable[[ModuleType], None]:
    def exec_module(module: ModuleType) -> None:
        execute(module)
        if module.__name__ == name:  # some loaders, a zip file's say, serve many modules
            _waiting.append((name, module))
            _fill_waiting()

    return exec_module


def _count_while(name: str, execute: Callable[[ModuleType], None]) -> Callable[[ModuleType], None]:
    def exec_module(module: ModuleType) -> None:
        global _own_modules_loading  # noqa: PLW0603
        _own_modules_loading += 1
        try:
            execute(module)
        finally:
            _own_modules_loading -= 1
        _fill_waiting()

    return exec_module


def _fill_waiting() -> None:
    while _waiting and not _own_modules_loading:
        name, module = _waiting.pop(0)
        try:
            from mteb_ext import registry

            getattr(registry, _HOOKS[name])(module)
        except Exception as error:
            _warn(error)


def _warn(error: BaseException) -> None:
    """Say once, in one sentence, why the package is not active; never raise."""
    sentence = f"mteb_ext is not active: {error}"
    try:
        import warnings

        sentence += (
            f" (mteb {_version()}; supported: mteb{SUPPORTED_MTEB}). mteb itself works; for "
            "mteb_ext's tasks install a supported mteb or a newer mteb-ext."
        )
        if sentence not in _said:
            _said.add(sentence)
            warnings.warn(sentence, RuntimeWarning, stacklevel=2)
    except Exception:  # where warnings are errors
        print(sentence, file=sys.stderr)


def install() -> None:
    """Add the package's tasks, models and benchmarks to mteb, now or as soon as mteb is imported.

    Idempotent; never raises.
    """
    try:
        if os.environ.get("MTEB_EXT_DISABLE", "0").lower() not in {"", "0", "false", "no", "off"}:
            return
        if any(isinstance(finder, _PostImportFinder) for finder in sys.meta_path):
            return
        sys.meta_path.insert(0, _PostImportFinder())
        _waiting.extend((name, sys.modules[name]) for name in _HOOKS if name in sys.modules)
        _fill_waiting()
    except Exception as error:
        _warn(error)
