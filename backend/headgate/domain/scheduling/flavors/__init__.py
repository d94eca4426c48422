"""Which flavor serves each resource of a pod set."""
