"""Who may compete for quota and in which line, and what LocalQueues have used of late."""
