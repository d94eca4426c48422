"""Alerts and warnings that need the attention of an administrator."""
