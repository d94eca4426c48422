"""From states to manifests in Kueue's shape, with status and conditions."""
