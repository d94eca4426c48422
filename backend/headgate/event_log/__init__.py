"""The stored form of events: names, schema versions, codec, upcasters."""
