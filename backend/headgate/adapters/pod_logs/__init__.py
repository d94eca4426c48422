"""Stores of pod logs: a directory shared by all processes, or S3-compatible object storage."""
