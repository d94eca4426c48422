"""Headgate: every workload gets a place, or a reason why not."""
