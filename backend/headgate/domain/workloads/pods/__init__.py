"""Pod sets of a workload: requests, LimitRanges, updates by checks, ranks and eviction units."""
