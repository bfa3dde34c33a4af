"""What runs left behind, as frames: one table of every result, and what follows from it.

This room computes and prints nothing; :mod:`mteb_ext.tables` shows its frames.
"""

from __future__ import annotations

from mteb_ext.analysis.reading import COLUMNS, load_results

__all__ = ["COLUMNS", "load_results"]
