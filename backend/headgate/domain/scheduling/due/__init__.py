"""What follows from time and state alone, and when."""
