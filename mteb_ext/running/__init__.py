"""Running models: which model a name or a folder stands for, the plan of a run, and its engines."""
