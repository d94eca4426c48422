"""Pod logs: what pods write, kept beside the event log, read and followed through any process."""
