"""The map of a topology: which domain holds what, and who is where."""
