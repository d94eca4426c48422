"""Verification of the whole log by independent accounting that shares no code with scheduling."""
