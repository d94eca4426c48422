"""Kubernetes as a substrate: plain pods on the nodes that Headgate has chosen."""
