"""Commands: loaded, decided, and appended as one unit."""
