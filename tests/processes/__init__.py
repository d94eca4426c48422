"""Real processes on real servers: what holds when they are started, killed and stopped."""
