"""From the text of manifests to typed objects, with every broken rule at its pointer."""
