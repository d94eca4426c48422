"""Everything an admin configures: ten kinds of objects with the same five verbs."""
