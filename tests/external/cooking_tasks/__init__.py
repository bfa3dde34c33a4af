"""Tasks, a model and a benchmark of another package."""
