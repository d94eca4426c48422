"""Running and looking after an installation: its doctor, its containers, its directory."""
