"""Every field of every kind that is accepted, and what becomes of it when it is set."""
