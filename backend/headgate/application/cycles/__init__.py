"""What workers did in each turn, and doing it again from the log."""
