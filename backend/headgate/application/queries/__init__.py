"""Queries: answers computed from the live state and the read models."""
