"""Cordoning nodes, and what they say of themselves."""
