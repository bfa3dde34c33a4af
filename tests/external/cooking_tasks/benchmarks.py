"""A benchmark. It is loaded after all tasks, so that they can be asked for by their names."""

from __future__ import annotations

import mteb

COOKING = mteb.Benchmark(
    name="Cooking", tasks=mteb.get_tasks(tasks=["CookingSTS", "CookingPlainSTS"])
)
