"""Demo data: a small cluster with workloads, a simulated executor and incidents."""
