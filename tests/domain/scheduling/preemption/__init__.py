"""Who must go so that another can start."""
