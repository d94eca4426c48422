"""Replay of traces and scenarios against a running Headgate through its public API."""
