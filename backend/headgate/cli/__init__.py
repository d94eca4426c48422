"""The command line: kubectl's habits, Headgate's answers."""
