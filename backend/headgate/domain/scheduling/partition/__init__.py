"""What a cycle works on: which partitions there are, the fold of one, and whom a change concerns."""
