"""Adapters fill the ports: Postgres, memory, the broker, the system, stores of logs and uploads."""
