"""Runs Postgres, Redis, API and workers on one machine, for `headgate up` and for tests."""
