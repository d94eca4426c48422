"""Objects as people write them (Kueue's YAML and JSON) to and from the domain's specs; pure."""
