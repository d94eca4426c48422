"""A simulated executor: it starts, runs and stops nothing, and reports as if it did."""
