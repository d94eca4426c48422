"""Whoever runs the pods: what to run, and what became of it."""
