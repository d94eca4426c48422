"""One stream per preemption round: from the decision to make room until the preemptor starts."""
