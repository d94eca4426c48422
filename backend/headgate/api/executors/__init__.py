"""What executors read and report: assignments, evictions and the state of pods."""
