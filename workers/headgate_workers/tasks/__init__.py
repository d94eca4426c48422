"""The messages workers take: each only wakes a ticker, for everything is done elsewhere."""
