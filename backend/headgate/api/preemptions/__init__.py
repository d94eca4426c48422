"""The preemption ledger: who had to go for whom, under which rule."""
