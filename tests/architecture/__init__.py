"""The house rules as tests: each is small, and its message says what to do."""
