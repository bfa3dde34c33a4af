"""A model: the counts of letters."""

from __future__ import annotations

from typing import Any

import numpy as np
from mteb.models.abs_encoder import AbsEncoder
from mteb.models.model_meta import ModelMeta


class Letters(AbsEncoder):
    """A text as the counts of its letters."""

    def __init__(self, *_: object, **__: object) -> None:
        self.mteb_model_meta = LETTERS

    def encode(self, inputs: Any, **_: object) -> np.ndarray:
        """The counts, one row a text."""
        texts = [text.lower() for batch in inputs for text in batch["text"]]
        letters = "abcdefghijklmnopqrstuvwxyz"
        return np.array([[float(text.count(letter)) for letter in letters] for text in texts])


LETTERS = ModelMeta.create_empty(
    overwrites={
        "name": "cooking/letters",
        "revision": "1",
        "loader": Letters,
        "training_datasets": set(),
    }
)
