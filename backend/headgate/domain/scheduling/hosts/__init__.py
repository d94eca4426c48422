"""Which hosts a workload cannot count on, since when, and who is looking for others."""
