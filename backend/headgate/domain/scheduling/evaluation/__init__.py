"""The evaluation of one workload: the flavors, hosts and quota it would get now, or its victims."""
