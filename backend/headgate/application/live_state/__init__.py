"""The cluster state that a process keeps in memory, and its snapshots between processes."""
