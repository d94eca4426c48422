"""The scheduling order of pending workloads, within a ClusterQueue and within a cycle."""
