"""What a cycle works on: the fold of one partition, all there are, whom a change concerns."""
