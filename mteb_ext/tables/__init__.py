"""Frames as people read them. This room shows numbers and computes none."""
