"""What is asked about workloads: why they wait, what happened to them, who needs help."""
