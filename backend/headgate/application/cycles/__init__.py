"""Records of scheduling cycles, and their rerun from the log."""
