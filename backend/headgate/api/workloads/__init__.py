"""Workloads: submit, read, act on, explain."""
