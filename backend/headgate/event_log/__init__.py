"""How facts are written down and read back: names, schema versions, codec, upcasters."""
