"""mteb_ext: evaluate any mteb model on four papers' datasets by the papers' own protocols.

Importing this package is all the set-up there is: mteb knows its tasks, benchmarks and baselines
from then on. An installed copy is imported at every Python start, so this module must stay free of
everything but the standard library; public names are resolved when they are first used.
"""

from __future__ import annotations

from mteb_ext import _autoload

_PUBLIC = {
    "CompatibilityError": "mteb_ext.errors",
    "DataError": "mteb_ext.errors",
    "DataNotProvidedError": "mteb_ext.data.sources",
    "MtebExtError": "mteb_ext.errors",
    "OfflineError": "mteb_ext.errors",
    "ProtocolError": "mteb_ext.errors",
    "UndefinedMetricError": "mteb_ext.errors",
    "SharedEmbeddings": "mteb_ext.scoring.sharing",
    "load_dataset": "mteb_ext.loading",
    "load_model": "mteb_ext.running.models",
    "load_published": "mteb_ext.published",
}

__all__ = [*sorted(_PUBLIC), "__version__"]  # noqa: PLE0604


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("mteb-ext")
    if name in _PUBLIC:
        from importlib import import_module

        return getattr(import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


_autoload.install()
