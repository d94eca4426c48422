"""Queries on topologies: hosts, fitting pods, and the effect of a drain."""
