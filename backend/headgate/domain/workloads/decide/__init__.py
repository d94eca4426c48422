"""From a command or report on a workload to its events, or to a rejection."""
