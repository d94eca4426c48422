"""The log, read page by page and as a histogram."""
