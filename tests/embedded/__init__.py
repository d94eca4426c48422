"""Servers of our own."""
