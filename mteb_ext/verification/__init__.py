"""Checks of results: every score computed again, and whatever else can be checked."""
