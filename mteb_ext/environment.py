"""Boolean environment variables, read the same way everywhere. Standard library only."""

from __future__ import annotations

import os

DISABLE = "MTEB_EXT_DISABLE"

_YES = frozenset({"1", "true", "yes", "on"})  # huggingface_hub's, which reads HF_HUB_OFFLINE too


def is_set(name: str) -> bool:
    """Whether a variable is ``1``, ``true``, ``yes`` or ``on``, in upper or lower case."""
    return os.environ.get(name, "").strip().lower() in _YES
