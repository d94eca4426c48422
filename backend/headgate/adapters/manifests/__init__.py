"""Codecs of Kueue's manifests: from YAML or JSON to commands, and from states back to manifests."""
