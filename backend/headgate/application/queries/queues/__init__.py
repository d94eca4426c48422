"""What is asked about queues: their tree, their lines, and what they use."""
