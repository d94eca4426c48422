"""Every change somebody asks for: read, decided on loaded objects, appended as one unit."""
