"""Metric kernels: arrays in, numbers out; nothing here knows mteb."""
