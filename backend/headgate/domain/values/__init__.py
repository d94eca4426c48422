"""Small immutable values that all aggregates share: instants, quantities, selectors, taints."""
