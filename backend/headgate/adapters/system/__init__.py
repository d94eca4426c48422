"""Clocks, ids and randomness, log lines of processes, and what is checked at their start."""
