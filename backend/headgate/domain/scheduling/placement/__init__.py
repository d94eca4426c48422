"""Topology-aware placement: the hosts on which the pods of a workload run (KEP-2724)."""
