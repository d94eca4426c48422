"""The same ports as adapters.postgres, in dicts: for tests and simulation."""
