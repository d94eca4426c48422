"""Random valid objects: states of every configured kind, and workload manifests."""
