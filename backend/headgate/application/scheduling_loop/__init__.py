"""The loop of a scheduler worker: partition after partition, plan after plan."""
