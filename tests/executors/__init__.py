"""Executors: reconciliation, journal, and substrates with real processes."""
