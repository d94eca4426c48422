"""Queries on queues: their tree, their pending workloads, and their usage."""
