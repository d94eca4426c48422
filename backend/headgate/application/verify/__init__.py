"""Proof by recount: the whole log read by simple books that share nothing with scheduling."""
