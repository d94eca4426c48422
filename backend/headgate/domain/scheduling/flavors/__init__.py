"""Assigns a flavor to each resource of a pod set (Kueue: flavorassigner)."""
