"""The messages workers take: three lines each, for everything is done elsewhere."""
