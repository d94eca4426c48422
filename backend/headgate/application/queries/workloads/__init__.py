"""Queries on workloads: pending reasons, timelines, and stuck workloads."""
