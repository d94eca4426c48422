"""HTTP: parse, call a use case, answer."""
