"""Scores that were made elsewhere: read from files, laid beside a task, scored by its protocol.

``forms`` reads one file format a module. ``pairs`` and ``rankings`` match what was read to the
items of a task: every item has exactly one score, or the outputs are refused. ``scoring`` has the
task compute its scores, and writes what a run would have left behind.
"""
