"""Preemption: the worked examples and invariants of preemption.md."""
