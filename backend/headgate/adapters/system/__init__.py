"""Clocks, ids and chance: everything that is not the same twice."""
