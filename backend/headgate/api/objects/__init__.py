"""Everything an admin configures: eleven kinds of objects with the same five verbs."""
