"""Rules of configured objects, as given, when, then."""
