"""Servers that run beside us on one machine, for `headgate up` and for tests."""
