"""Backtests: a stretch of the log once more through another configuration."""
