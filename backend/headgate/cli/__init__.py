"""The command line, with the habits of kubectl."""
