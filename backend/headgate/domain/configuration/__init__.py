"""What holds for the whole installation, in one object: Kueue's Configuration."""
