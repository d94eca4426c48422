"""Texts of messages as readers see them."""
