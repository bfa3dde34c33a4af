"""The lexical baselines that the papers report, as mteb models: no download, no parameters."""

from __future__ import annotations

from mteb.models.model_meta import ModelMeta

from mteb_ext.baselines.sentence_bleu import SENTENCE_BLEU
from mteb_ext.baselines.token_cosine import TOKEN_COSINE
from mteb_ext.baselines.word_count import WEIGHTED_WORD_COUNT, WORD_COUNT

__all__ = ["MODEL_METAS"]

MODEL_METAS: tuple[ModelMeta, ...] = (
    TOKEN_COSINE,
    WORD_COUNT,
    WEIGHTED_WORD_COUNT,
    SENTENCE_BLEU,
)
"""Metadata of all of them, to be registered with mteb."""
