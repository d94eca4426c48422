"""Faults thrown at a whole running installation under load, and a count of what came of it."""
