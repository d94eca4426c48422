"""Celery tasks: each only wakes a ticker, which finds its work in the database."""
