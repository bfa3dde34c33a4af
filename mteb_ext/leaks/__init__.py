"""What a model may have seen before: a task's test texts, looked up in training data."""
