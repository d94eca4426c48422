"""The agent's substrate: pods as process trees of this host, each below a shim of its own."""
