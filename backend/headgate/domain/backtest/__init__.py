"""A stretch of the log once more, under another configuration or the rules of today."""
