"""Objects with a default for everything: what a test sets is what matters to it."""
