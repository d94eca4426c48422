"""Nudges through Celery: "look at this partition", no facts."""
