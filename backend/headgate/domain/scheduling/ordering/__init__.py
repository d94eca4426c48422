"""Which workload comes first."""
