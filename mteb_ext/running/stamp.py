"""What goes into a stamp: see :class:`mteb_ext.formats.stamp.Stamp`."""

from __future__ import annotations

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from typing import Any

_LIBRARIES = (
    "mteb",
    "sentence-transformers",
    "transformers",
    "torch",
    "numpy",
    "scipy",
    "datasets",
)


def libraries() -> dict[str, str]:
    """Versions of the libraries that scores depend on."""
    found = {"python": platform.python_version(), "mteb-ext": sys.modules["mteb_ext"].__version__}
    for name in _LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def hardware() -> dict[str, Any]:
    """Machine, processor and devices of this process."""
    found: dict[str, Any] = {
        "system": platform.system(),
        "machine": platform.machine(),
        "cpus": os.cpu_count(),
    }
    torch = sys.modules.get("torch")
    if torch is not None:
        found["threads"] = torch.get_num_threads()
        found["gpus"] = [
            torch.cuda.get_device_name(i)
            for i in range(torch.cuda.device_count() if torch.cuda.is_available() else 0)
        ]
    return found
