"""Builders of objects with a default for every field: a test sets what matters to it."""
