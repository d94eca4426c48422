"""What fills the ports: Postgres, memory, the broker, the system."""
