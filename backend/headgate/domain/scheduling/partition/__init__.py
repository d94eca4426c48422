"""The fold that a cycle works on: partitions, their charges and index, and what events requeue."""
