"""Nodes: hosts that pods run on, what they report, their leases, cordons and drains."""
