"""A simulated executor: it reports starts, runs and stops of pods without running any."""
