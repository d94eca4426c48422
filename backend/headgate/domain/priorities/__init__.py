"""WorkloadPriorityClasses: how important work is, and how well protected."""
