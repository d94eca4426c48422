"""What is asked about topologies: what is where, what would fit, what a drain would do."""
