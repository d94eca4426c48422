"""Small immutable values that every aggregate shares: instants, quantities, selectors, taints."""
