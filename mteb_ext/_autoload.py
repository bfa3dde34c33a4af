"""The post-import hook: as soon as mteb has been imported, ours is added to its registries.

This runs at every start of a Python that has the package installed (through ``mteb-ext.pth``, or
``mteb-ext.start`` where Python reads those). Hence three rules: standard library only, nothing
imported that is not needed, and nothing raised, whatever happens. ``MTEB_EXT_DISABLE=1`` turns it
off.

There is one step, :func:`_fill`. It goes through the modules of mteb that have run, in a fixed
order, and adds what they lack. It runs after each of these modules, after modules of our own, and
in :func:`install`, so the order of imports does not matter.
"""

from __future__ import annotations

import sys

from mteb_ext.environment import DISABLE, is_set

SUPPORTED_MTEB = ">=2.26,<3"
_LOWEST, _FIRST_BEYOND = (2, 26), (3, 0)

TYPE_CHECKING = False  # typing is not worth its import here; type checkers know this name
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

# The modules of mteb that get something added, in the order in which they can get it. Once mteb
# itself has run, the first three must be there; the others are imported when first used.
_WATCHED = (
    "mteb.get_tasks",
    "mteb.models.model_implementations",
    "mteb.cache.result_cache",
    "mteb.benchmarks.benchmarks",
    "mteb.benchmarks._leaderboard_menu",
    "mteb.cli.build_cli",
    "mteb",
)

_busy = 0  # modules that are half imported, and registries that are being filled
_said: set[str] = set()


class _PostImportFinder:
    """A meta path finder that finds nothing itself: it lets the others find, then adds a hook."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if sys.meta_path[0] is not _FINDER:  # a finder that serves mteb's modules must not hide us
            _put_first()
        if name in _WATCHED or name.startswith("mteb_ext."):
            return _spec_with_hook(name, path, target)
        return None


_FINDER = _PostImportFinder()


def _put_first() -> None:
    # Compared by module, so that the finder of a copy that was imported before goes.
    others = [f for f in sys.meta_path if getattr(f, "__module__", None) != __name__]
    sys.meta_path[:] = [_FINDER, *others]


def _spec_with_hook(
    name: str, path: Sequence[str] | None, target: ModuleType | None
) -> ModuleSpec | None:
    for finder in sys.meta_path[1:]:
        spec = finder.find_spec(name, path, target) if hasattr(finder, "find_spec") else None
        if spec is not None:
            try:  # noqa: SIM105 - contextlib costs time at every Python start
                spec.loader.exec_module = _then_fill(name, spec.loader.exec_module)  # type: ignore[union-attr,method-assign]
            except AttributeError:
                pass  # a loader that cannot be hooked; what is missing is added later
            return spec
    return None


def _then_fill(name: str, execute: Callable[[ModuleType], None]) -> Callable[[ModuleType], None]:
    """Run the module, and add what is missing when it is done, not before.

    A module of ours may import mteb, whose registries would be filled from a module half imported;
    and a plugin may need all of mteb, not the half that has run when its registries have.
    """

    def exec_module(module: ModuleType) -> None:
        global _busy  # noqa: PLW0603
        if module.__name__ != name:  # some loaders, a zip file's say, serve many modules
            return execute(module)
        _busy += 1
        try:
            execute(module)
        finally:
            _busy -= 1
        return _fill(just_run=module)

    return exec_module


def _fill(just_run: ModuleType | None = None) -> None:
    """Add what is missing from what has run of mteb; warn instead of raising."""
    global _busy  # noqa: PLW0603
    if _busy or "mteb" not in sys.modules:
        return
    _busy += 1
    try:
        _fill_what_has_run(just_run)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # whatever a plugin may raise
        _warn(error)
    finally:
        _busy -= 1


def _fill_what_has_run(just_run: ModuleType | None) -> None:
    filled = None
    while (names := [name for name in _WATCHED if _has_run(name, just_run)]) != filled:
        if names and not _supports(mteb_version()):
            raise RuntimeError("this mteb is outside the supported range")

        from mteb_ext.plugin import registries

        registries.fill(names)
        filled = names


def _has_run(name: str, just_run: ModuleType | None) -> bool:
    module = sys.modules.get(name)
    spec = getattr(module, "__spec__", None)  # a stand-in, in somebody's tests say, has none
    return spec is not None and (module is just_run or not getattr(spec, "_initializing", False))


def mteb_version() -> str:
    """The version of mteb, which need not have been imported."""
    from importlib.metadata import PackageNotFoundError, version

    known = getattr(sys.modules.get("mteb"), "__version__", None)  # the last that mteb sets
    for name in ("mteb", "mteb-core"):  # two distributions of one package
        try:
            known = known or version(name)
        except PackageNotFoundError:
            continue
    return str(known)


def _supports(version: str) -> bool:
    try:
        found = tuple(int(part) for part in version.split(".")[:2])
    except ValueError:
        return True  # no release: the names that are needed are checked in any case
    return _LOWEST <= found < _FIRST_BEYOND


def _warn(error: BaseException) -> None:
    """Say once, in one sentence, why the package is not active; never raise."""
    sentence = f"mteb_ext is not active: {error}"
    try:
        import warnings

        sentence += (
            f" (mteb {mteb_version()}; supported: mteb{SUPPORTED_MTEB}). mteb itself works; for "
            "mteb_ext's tasks install a supported mteb or a newer mteb-ext."
        )
        if sentence not in _said:
            _said.add(sentence)
            warnings.warn(sentence, RuntimeWarning, stacklevel=2)
    except Exception:  # where warnings are errors
        print(sentence, file=sys.stderr)


def install() -> None:
    """Add the package's tasks, models and benchmarks to mteb, now or as soon as mteb is imported.

    Idempotent, and looks again whether all are there; never raises.
    """
    if is_set(DISABLE):
        return
    if sys.meta_path[:1] != [_FINDER]:
        _put_first()
    _fill()
