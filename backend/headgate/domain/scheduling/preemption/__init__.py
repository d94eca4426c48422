"""Preemption: the workloads that are evicted so that a pending workload can be admitted."""
