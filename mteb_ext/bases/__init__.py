"""The base classes of the papers' tasks: mteb tasks that apply a protocol and check it.

A task names its metadata, its protocol and how its rows are read; everything else is here.
"""

from __future__ import annotations

from mteb_ext.bases.ranking import PaperRanking
from mteb_ext.bases.sts import PaperSTS
from mteb_ext.bases.task import PaperTask, sample_twin

__all__ = ["PaperRanking", "PaperSTS", "PaperTask", "sample_twin"]
