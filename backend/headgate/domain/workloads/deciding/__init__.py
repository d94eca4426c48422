"""What becomes of a workload when something is asked or reported of it, subject by subject."""
