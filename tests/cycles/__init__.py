"""Cycles run again from the log give the same bytes."""
