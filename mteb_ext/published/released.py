"""Outputs that authors of published systems released: whose figures can be computed again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from mteb_ext.errors import DataError
from mteb_ext.published.standing import compare_as_printed
from mteb_ext.published.tables import published_rows
from mteb_ext.published.variants import VARIANTS


@dataclass(frozen=True, slots=True)
class Release:
    """A file of outputs, pinned to a commit of a public repository.

    Its sha256 stands in ``data/registry.txt``.

    Attributes:
        task: Our task.
        split: The split that the outputs are of.
        system: The system, as its published table names it.
        name: The name of its results, as ORG/SYSTEM.
        repository: ``owner/repository/commit``, and a folder in it.
        path: The file below that.
        licence: Under which licence the file is published.
        variant: The protocol variant of the published figures.
        ids: What the file's identifiers are.
    """

    task: str
    split: str
    system: str
    name: str
    repository: str
    path: str
    licence: str
    variant: str
    ids: Literal["names", "positions"] = "names"

    def check(self, entries: Iterable[Mapping[str, Any]]) -> None:
        """See that the published figures come out.

        Args:
            entries: What came out: result keys with their values, one mapping a subset.

        Raises:
            DataError: If one of them is not the printed one, at the digits of the print; or the
                tables have no figure of the system.
        """
        by_subset = {entry["hf_subset"]: entry for entry in entries}
        measures = VARIANTS[self.variant].measures
        printed = [
            row
            for row in published_rows()
            if (row["task"], row["split"], row["system"], row["variant"])
            == (self.task, self.split, self.system, self.variant)
        ]
        wrong = [
            f"{row['metric']} is {row['printed']} in print and comes out as {ours:.6f}"
            for row in printed
            for ours in [by_subset[row["subset"]][str(measures[row["metric"]])]]
            if compare_as_printed(ours, row["value"], row["decimals"])
        ]
        if wrong or not printed:
            raise DataError(
                f"the outputs of {self.system} ({self.path}) are not those of the published "
                f"figures: {'; '.join(wrong) or 'there are none'}. They are left out."
            )


RELEASES: Sequence[Release] = (
    Release(
        task="WikiQA",
        split="test",
        system="CNN",
        name="yang2015/cnn",
        repository="JasonRui/WikiQA-LSTM-Keras/0d6a84041d906458d48e4504a264d1c19d11a054",
        path="WikiQACorpus/emnlp-table/WikiQA.CNN.test.rank",
        licence="Microsoft Research Data License",
        variant="clean-237",
        ids="positions",
    ),
)
"""The releases; docs/OUTPUTS.md has those that were found and left out, and why."""
