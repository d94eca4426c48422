"""Reads of the past: the services of a position, from a fold of the log up to it."""
