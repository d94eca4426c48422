"""From a command or report to the events that follow for a workload, or to a rejection."""
