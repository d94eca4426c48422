"""Configured objects: one resource for each kind, all with the same verbs."""
