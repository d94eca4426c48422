"""Hostile and generated requests against a running installation, by its OpenAPI document."""
