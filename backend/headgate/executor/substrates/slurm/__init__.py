"""Slurm as a substrate: gangs as jobs on exactly the nodes that Headgate has chosen."""
