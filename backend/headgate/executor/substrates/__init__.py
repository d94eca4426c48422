"""Substrates: what starts, observes and stops the pods of an executor."""
