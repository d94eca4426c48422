"""Celery processes that decide (queue `admission`) and tidy up (queue `upkeep`)."""
