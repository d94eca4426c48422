"""Replay of a time range of the log under another configuration or the current rules."""
