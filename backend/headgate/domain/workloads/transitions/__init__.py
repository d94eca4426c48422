"""From an event to the next state of a workload, where that takes more than a line of `evolve`."""
