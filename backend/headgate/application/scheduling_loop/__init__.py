"""What a worker does: partition after partition, plan after plan."""
