"""How facts are written down and read back."""
