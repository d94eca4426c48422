"""Kubernetes as a substrate: plain pods, Jobs and JobSets on the nodes that Headgate has chosen."""
