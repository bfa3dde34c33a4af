"""Published results of the tasks, each number with the protocol variant that it follows.

Two numbers can be compared if their variants are the same, and only then. `load_published`
returns the papers' numbers, `published_for` those that a score of ours can stand beside, and
`standing` counts the better ones. `VARIANTS` says in one sentence what each variant computes, and
which of our measures follow it.

The tables are stored as they are printed, in the folder `tables`, and described in `printed.py`.
The columns of the long form that is derived from them (`COLUMNS`):

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
- `decimals`: how many decimals of `value` the print gives.
- `variant`: the protocol variant, a key of `VARIANTS`.
- `ambiguous`: whether it is not settled that the number follows this variant; it then stands once
  beside each variant that it may follow.
- `derived`: whether the number was computed from printed ones, instead of printed itself.
- `source`: the citation key of the paper, a key of `mteb_ext.papers.PAPERS`.
- `table`: the place in the paper: the table's number and page, or what it shows where the note says
  that its number is not verified.
- `note`: late submissions, how a derived number was computed, what was inferred or is open.

What is known to be open in the tables:

- TANDA on WikiQA. The paper counts 243 test questions, and its repository says that those without
  a correct answer were removed. Its text names the setting "clean", which leaves 237, and the
  function that an author posted for the scores skips questions with correct answers only. Its two
  numbers stand beside both variants, marked ambiguous.
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

from mteb_ext.published.standing import Standing, compare_as_printed, standing
from mteb_ext.published.tables import COLUMNS, load_published, published_for, to_frame
from mteb_ext.published.variants import TASKS, VARIANTS, Variant, variants_of

__all__ = [
    "COLUMNS",
    "TASKS",
    "VARIANTS",
    "Standing",
    "Variant",
    "compare_as_printed",
    "load_published",
    "published_for",
    "standing",
    "to_frame",
    "variants_of",
]
