"""From a command or a report to the events that follow for a workload, or to a rejection."""
