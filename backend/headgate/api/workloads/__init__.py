"""Workloads: submitted, read, changed, acted on and explained."""
