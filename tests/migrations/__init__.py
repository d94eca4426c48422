"""The schema is what the migrations make it."""
