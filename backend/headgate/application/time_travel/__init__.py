"""The installation as it was: every read answered from a fold of the log up to a position."""
