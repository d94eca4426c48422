"""Nodes: hosts that pods run on, with their reports, leases, cordons and drains."""
