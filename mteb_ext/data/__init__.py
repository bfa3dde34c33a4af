"""Where the rows come from: sources, readers and the checks on what was read."""
