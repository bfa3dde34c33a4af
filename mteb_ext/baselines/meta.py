"""What all lexical baselines have alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mteb.models.model_meta import ModelMeta

__all__ = ["LEXICAL", "LexicalModel"]

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


class LexicalModel:
    """A model that is all code: there is nothing to load."""

    mteb_model_meta: ModelMeta

    def __init__(
        self,
        model_name: str = "",
        revision: str | None = None,
        device: str | None = None,
        **kwargs: object,
    ) -> None:
        """Make the model; the arguments are mteb's, and none of them has an effect.

        Args:
            model_name: Name of the model.
            revision: Revision of the model.
            device: Device, for models that run on one.
            **kwargs: Options of other models.
        """
