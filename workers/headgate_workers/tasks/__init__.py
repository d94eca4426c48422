"""One task in three lines each: parse, call one use case, return."""
