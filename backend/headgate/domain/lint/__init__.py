"""Lint: likely mistakes in allowed configurations, reported with their numbers."""
