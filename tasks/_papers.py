"""Citations of the papers that define more than one task."""

from __future__ import annotations

TANDA = r"""
@misc{garg2019tanda,
  author = {Garg, Siddhant and Vu, Thuy and Moschitti, Alessandro},
  note = {arXiv:1911.04118},
  title = {TANDA: Transfer and Adapt Pre-Trained Transformer Models for Answer Sentence Selection},
  year = {2019},
}
"""

JAPANESE_STS_IR = r"""
@misc{handa2025domain,
  author = {Chen, Zihao and Handa, Hisashi and Ohsaki, Miho and Shirahama, Kimiaki},
  note = {arXiv:2503.09094},
  title = {Domain Adaptation for Japanese Sentence Embeddings with Contrastive Learning based on Synthetic Sentence Generation},
  year = {2025},
}
"""
