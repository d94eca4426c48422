"""The command line; it talks to the API and to nothing else."""
