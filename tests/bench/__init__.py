"""Benchmarks of the real system beside a bare yardstick on the same machine in the same run."""
