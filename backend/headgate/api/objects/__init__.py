"""Everything an admin configures: thirteen kinds of objects with the same five verbs."""
