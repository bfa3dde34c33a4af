"""A task that is not ready yet."""

from mteb.abstasks.sts import AbsTaskSTS


class Unfinished(AbsTaskSTS):
    """Nothing but a name."""

    metadata = None
