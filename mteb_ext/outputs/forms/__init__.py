"""The file formats that outputs come in, and which of them a file is of."""

from __future__ import annotations

from collections.abc import Mapping

from mteb_ext.errors import DataError
from mteb_ext.names import did_you_mean
from mteb_ext.outputs.forms.form import Form
from mteb_ext.outputs.forms.json_lines import JSON_LINES
from mteb_ext.outputs.forms.predictions import PREDICTIONS
from mteb_ext.outputs.forms.score_lines import SCORE_LINES
from mteb_ext.outputs.forms.segment_scores import SEGMENT_SCORES
from mteb_ext.outputs.forms.subset_lines import SUBSET_LINES
from mteb_ext.outputs.forms.table import TABLE
from mteb_ext.outputs.forms.trec import TREC
from mteb_ext.outputs.rows import Outputs, Text

_FORMS = (PREDICTIONS, JSON_LINES, SEGMENT_SCORES, TREC, SCORE_LINES, SUBSET_LINES, TABLE)
FORMS: Mapping[str, Form] = {form.name: form for form in _FORMS}
"""The formats by name, in the order in which a file is held against them."""


def read_outputs(text: Text, split: str, name: str | None = None) -> Outputs:
    """Read a file.

    Args:
        text: Its content.
        split: The split that is asked for; only prediction files hold several.
        name: The format; found by the file's beginning where it is not given.

    Raises:
        DataError: If there is no such format, or the file is not of it, or of none.
    """
    if name is not None and name not in FORMS:
        raise DataError(
            f"there is no format {name!r}; there are {', '.join(FORMS)}.{did_you_mean(name, FORMS)}"
        )
    form = FORMS[name] if name else next((form for form in _FORMS if form.fits(text)), None)
    if form is None:
        looks = "; ".join(f"{form.name}: {form.looks}" for form in _FORMS)
        raise DataError(
            f"{text.origin} is of no format that is known here. Its first line is "
            f"{text.first[:60]!r}. The formats are {looks}. Say which with --format."
        )
    return form.read(text, split)
