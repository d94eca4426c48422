"""Use cases and the ports they need: load, decide, append."""
