"""The queue tree, the waiting lines, and stopping and resuming queues."""
