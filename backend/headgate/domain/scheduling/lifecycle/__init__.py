"""Transitions of a workload that follow from time and state alone, with the instant each is due."""
