"""What is allowed in a configuration and most likely not meant, told with the numbers."""
