"""What somebody should look at first."""
