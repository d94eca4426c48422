"""What workers planned, and running it again."""
