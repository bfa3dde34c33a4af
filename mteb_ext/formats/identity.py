"""The model that a folder of results is of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mteb_ext.formats.layout import EXPERIMENTS
from mteb_ext.formats.predictions import NAMELESS
from mteb_ext.json_files import storable


@dataclass(frozen=True)
class Identity:
    """A model, as its results name it.

    Attributes:
        name: The model's name.
        revision: Its revision.
        options: The options of an experiment.
    """

    name: str
    revision: str
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """The name, with the options in brackets."""
        shown = ", ".join(f"{key}={value}" for key, value in self.options.items())
        return storable(f"{self.name} ({shown})" if shown else self.name)

    @classmethod
    def of(cls, folder: Path, meta: Mapping[str, Any]) -> Identity:
        """The model of a folder: by the content of ``model_meta.json``, else by folder names.

        Args:
            folder: The folder of the results.
            meta: The file's content; empty if there is none.
        """
        folder = folder.absolute()
        of_revision = folder.parent.parent if folder.parent.name == EXPERIMENTS else folder
        by_folder = (of_revision.parent.name.replace("__", "/"), of_revision.name)
        stated = (meta.get("name"), meta.get("revision"))
        name, revision = (
            value if isinstance(value, str) and value.strip() else other or NAMELESS
            for value, other in zip(stated, by_folder, strict=True)
        )
        options = meta.get("experiment_kwargs")
        kept = options if isinstance(options, dict) else {}
        return cls(storable(name), storable(revision), kept)
