"""Several cells with leases of quota, a directory, routers and queues that move (ADR 0057)."""
