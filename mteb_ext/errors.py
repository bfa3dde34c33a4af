"""The package's own exceptions: each message names the task, the file or row, and the next step."""

from __future__ import annotations


class MtebExtError(Exception):
    """Base of every error that this package raises on purpose."""


class ProtocolError(MtebExtError):
    """A model, a task definition or a scorer breaks what the paper's protocol demands."""


class ModelError(MtebExtError):
    """A model that is asked for is not there, cannot be loaded, or is no finished model."""


class RunError(MtebExtError):
    """A run cannot be made: its plan, its output folder or its cluster is not usable."""


class UndefinedMetricError(ProtocolError, ValueError):
    """The metric has no value for this input, for example the correlation of a constant."""


class DataError(MtebExtError):
    """A data file is missing, damaged, or not the file that the paper used."""


class OfflineError(DataError):
    """A file is needed that is not on this machine, and fetching is forbidden or failed."""


class CompatibilityError(MtebExtError):
    """The installed mteb no longer has a name that this package relies on."""
