"""Backtest jobs: a time range of the log replayed under another configuration, in slices."""
