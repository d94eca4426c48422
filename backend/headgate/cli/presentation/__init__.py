"""Output formats for a terminal, a pipe and a file."""
