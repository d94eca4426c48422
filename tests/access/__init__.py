"""The rights of each role on every route: `python -m tests.access`."""
