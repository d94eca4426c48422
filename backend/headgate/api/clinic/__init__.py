"""Workloads that somebody may have to help, and the same action on many of them."""
