"""One stream per preemption round: from its commit until its preemptor is admitted."""
