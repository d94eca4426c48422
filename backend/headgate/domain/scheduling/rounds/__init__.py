"""How preemption rounds start, advance, end, and reserve capacity for their preemptors."""
