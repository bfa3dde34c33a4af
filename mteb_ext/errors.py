"""The package's exceptions. Each message names the task, the file or row, and the next step."""

from __future__ import annotations

_LONGEST = 600  # characters of a message that is shown


class MtebExtError(Exception):
    """Base of every error that this package raises on purpose."""


class ProtocolError(MtebExtError):
    """A model, a task definition or a scorer violates the paper's protocol."""


class ModelError(MtebExtError):
    """A model does not exist, cannot be loaded, or is incomplete."""


class RunError(MtebExtError):
    """A run cannot start: its plan, its output folder or its cluster is not usable."""


class UndefinedMetricError(ProtocolError, ValueError):
    """The metric has no value for this input, for example the correlation of a constant."""


class DataError(MtebExtError):
    """A data file is missing, damaged, or not the file that the paper used."""


class OfflineError(DataError):
    """A needed file is missing, and fetching it is off or failed."""


class NotApplicableError(ProtocolError):
    """A model cannot do what a task asks for by its kind, so a run skips the task."""


class CompatibilityError(MtebExtError):
    """The installed mteb lacks a name that this package needs."""


def error_line(error: BaseException) -> str:
    """An error of any type as one line of bounded length.

    Foreign errors are named by their type. Models and plugins raise anything: texts of megabytes,
    and errors whose own ``str`` fails.
    """
    try:
        text = " ".join(str(error).split())
    except Exception:
        text = "its message cannot be shown"
    if len(text) > _LONGEST:
        text = f"{text[:_LONGEST]}…"
    return (
        text if isinstance(error, MtebExtError) else f"{type(error).__name__}: {text}".rstrip(": ")
    )
