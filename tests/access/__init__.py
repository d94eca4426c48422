"""Who may do what, on every route for every role: `python -m tests.access`."""
