"""What stands between a model and the metrics.

The similarity is the protocol's cosine whatever the model's own is, each distinct text goes through
the model once, and only finite numbers get on. Nothing is kept from one call to the next: whoever
owns a model for several tasks shares embeddings on purpose, by
:class:`mteb_ext.encoding.sharing.SharedEmbeddings`.
"""

from __future__ import annotations

from mteb_ext.encoding.scorer import Call, Scorer, Texts

__all__ = ["Call", "Scorer", "Texts"]
