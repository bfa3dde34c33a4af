"""mteb_ext: evaluate any mteb model on four papers' datasets by the papers' own protocols.

Importing this package is all the set-up there is: mteb knows its tasks, benchmarks and baselines
from then on. An installed copy is imported at every Python start, so this module must stay free of
everything but the standard library; public names are resolved when they are first used.
"""

from __future__ import annotations

from mteb_ext import _autoload

__version__ = "0.1.0"

TYPE_CHECKING = False  # typing is not worth its import here; type checkers know this name
if TYPE_CHECKING:
    from mteb_ext.analysis import load_results as load_results
    from mteb_ext.data.sources import DataNotProvidedError as DataNotProvidedError
    from mteb_ext.datasets import load_dataset as load_dataset
    from mteb_ext.door import Comparison as Comparison
    from mteb_ext.door import compare as compare
    from mteb_ext.door import leaderboard as leaderboard
    from mteb_ext.door import report as report
    from mteb_ext.door import run as run
    from mteb_ext.door import ties as ties
    from mteb_ext.door import verify as verify
    from mteb_ext.encoding.sharing import SharedEmbeddings as SharedEmbeddings
    from mteb_ext.errors import CompatibilityError as CompatibilityError
    from mteb_ext.errors import DataError as DataError
    from mteb_ext.errors import ModelError as ModelError
    from mteb_ext.errors import MtebExtError as MtebExtError
    from mteb_ext.errors import OfflineError as OfflineError
    from mteb_ext.errors import ProtocolError as ProtocolError
    from mteb_ext.errors import UndefinedMetricError as UndefinedMetricError
    from mteb_ext.outputs.scoring import score as score
    from mteb_ext.published import load_published as load_published
    from mteb_ext.running.models import load_model as load_model
    from mteb_ext.verification.findings import Finding as Finding
    from mteb_ext.verification.findings import VerifyReport as VerifyReport
    from mteb_ext.verification.verifying import verify_results as verify_results

_PUBLIC = {
    "CompatibilityError": "mteb_ext.errors",
    "DataError": "mteb_ext.errors",
    "DataNotProvidedError": "mteb_ext.data.sources",
    "Finding": "mteb_ext.verification.findings",
    "MtebExtError": "mteb_ext.errors",
    "OfflineError": "mteb_ext.errors",
    "ModelError": "mteb_ext.errors",
    "ProtocolError": "mteb_ext.errors",
    "SharedEmbeddings": "mteb_ext.encoding.sharing",
    "UndefinedMetricError": "mteb_ext.errors",
    "VerifyReport": "mteb_ext.verification.findings",
    "load_dataset": "mteb_ext.datasets",
    "load_model": "mteb_ext.running.models",
    "load_published": "mteb_ext.published",
    "load_results": "mteb_ext.analysis",
    "score": "mteb_ext.outputs.scoring",
    "Comparison": "mteb_ext.door",
    "compare": "mteb_ext.door",
    "leaderboard": "mteb_ext.door",
    "report": "mteb_ext.door",
    "run": "mteb_ext.door",
    "ties": "mteb_ext.door",
    "verify": "mteb_ext.door",
    "verify_results": "mteb_ext.verification.verifying",
}

__all__ = [*sorted(_PUBLIC), "__version__"]  # noqa: PLE0604


def __getattr__(name: str) -> object:
    if name in _PUBLIC:
        from importlib import import_module

        _autoload.install()
        return getattr(import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


_autoload.install()
