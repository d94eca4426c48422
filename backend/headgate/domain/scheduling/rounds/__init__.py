"""How preemption rounds begin, go on and bind others."""
