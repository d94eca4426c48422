"""One stream per preemption round: from its commit until it completes, expires or is given up."""
