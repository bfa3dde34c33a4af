"""What the `ModelMeta` of every lexical baseline states alike."""

from __future__ import annotations

from typing import Any

__all__ = ["LEXICAL"]

LEXICAL: dict[str, Any] = {
    "revision": "1",
    "release_date": None,
    "n_parameters": 0,
    "n_embedding_parameters": 0,
    "memory_usage_mb": 0,
    "max_tokens": None,  # there is no limit, and infinity is not valid JSON
    "embed_dim": None,
    "license": "apache-2.0",  # this package's: there is nothing to the models but its code
    "open_weights": True,
    "public_training_code": None,
    "public_training_data": None,
    "training_datasets": set(),  # nothing is trained
    "framework": [],
    "use_instructions": False,
    "modalities": ["text"],
}
"""Fields of a model without parameters or training, as mteb's own baselines fill them."""
