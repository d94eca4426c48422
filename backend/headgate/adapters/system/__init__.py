"""Clocks, ids and randomness: everything nondeterministic."""
