"""From an event to the next state of a workload, for what takes more than a line of evolve."""
