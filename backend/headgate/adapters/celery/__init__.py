"""Nudges through Celery: each names a partition to evaluate and carries no facts."""
