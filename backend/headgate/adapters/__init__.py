"""Adapters fill the ports: Postgres, memory, the broker, the system, logs, uploads, traces."""
