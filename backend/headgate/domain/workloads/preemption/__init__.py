"""What a workload says of preemption, and what preemption does to it."""
