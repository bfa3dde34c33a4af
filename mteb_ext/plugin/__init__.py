"""The package as a plugin of mteb: its registries, and finding tasks, models and benchmarks."""
