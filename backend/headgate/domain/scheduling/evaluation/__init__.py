"""One look at one workload: what it would get now, or whom it would make leave."""
