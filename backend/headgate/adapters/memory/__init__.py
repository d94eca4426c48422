"""The ports of adapters.postgres in dicts, for tests and simulation."""
