"""Texts of all codes, for API, command line and page; pure, and rendered at read time."""
