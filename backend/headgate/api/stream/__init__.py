"""The log as it grows, as server-sent events."""
