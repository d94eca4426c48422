"""Celery processes for admission cycles (queue `admission`) and projections (queue `upkeep`)."""
