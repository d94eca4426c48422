"""Read-only views of the cluster state for people, computed on request."""
