"""Published results of the tasks, each number with the protocol variant that it follows.

Two numbers can be compared if their variants are the same, and only then. `load_published`
returns the papers' tables, `compare_published` puts our scores beside them, and `VARIANTS` says in
one sentence what each variant computes.

The columns of a table (`COLUMNS`):

- `task`: the name of our task.
- `subset`: the subset of our task; empty for the headline over several subsets.
- `split`: the split that the number was computed on.
- `system`: the system or team, by the name that the paper prints.
- `run`: 1, 2, 3 for the rows that a paper prints under one system's name, in the paper's order;
  not the number that a team gave its run.
- `system_paper`: the system's own paper, where the table cites one.
- `metric`: pearson, map or mrr.
- `value`: the number on the 0-1 scale.
- `printed`: the number as the paper prints it; empty where the row is derived.
- `variant`: the protocol variant, a key of `VARIANTS`.
- `derived`: whether the number was computed from printed ones, instead of printed itself.
- `source`: the citation key of the paper, a key of `SOURCES`.
- `table`: the place in the paper; empty where the figure is known but not its place.
- `note`: late submissions, how a derived number was computed, what was inferred.

A comparison (`COMPARISON_COLUMNS`) adds `ours`, true for our row, and `same_variant`, false for a
row that must not be compared with ours.

What is known to be open in the tables:

- SemEval-2017, headline. Section 6.2 defines Primary over six tracks, but the Primary column of
  Table 10 is the mean of all seven for each of its 45 complete rows, hence the two variants.
- SemEval-2017, counts. Table 9's participants per track are Table 10's submissions plus the
  baseline; its 44 for Primary leaves the baseline out.
- SemEval-2017, signs. Table 10 prints none, near zero either, so that a value close to zero may be
  the size of a negative correlation.
- SemEval-2017, partial rows. Where the text does not say which tracks a team took part in, the
  tracks follow from those counts, and the note says so.
- Not in the tables yet: the STS Benchmark's Table 14, and sentBLEU on WMT17 lv-en.
"""

from __future__ import annotations

from mteb_ext.published.compare import COMPARISON_COLUMNS, compare_published
from mteb_ext.published.frames import BackendError
from mteb_ext.published.tables import COLUMNS, load_published
from mteb_ext.published.variants import SOURCES, TASKS, VARIANTS, Variant

__all__ = [
    "COLUMNS",
    "COMPARISON_COLUMNS",
    "SOURCES",
    "TASKS",
    "VARIANTS",
    "BackendError",
    "Variant",
    "compare_published",
    "load_published",
]
