"""Quota trees, their usage, what fits a ClusterQueue, and dominant resource shares."""
