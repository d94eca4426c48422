"""What is foretold is what happens."""
