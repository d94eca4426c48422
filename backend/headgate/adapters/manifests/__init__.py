"""Kueue's manifests: from YAML or JSON to what is wanted, and from states back to manifests."""
