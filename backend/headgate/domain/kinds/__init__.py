"""Everything an administrator configures: one generic aggregate, and a registry of kinds."""
