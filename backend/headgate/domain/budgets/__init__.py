"""DisruptionBudgets: how much of a service preemption may take away at once."""
