"""The event log, its read models and locks in Postgres; the append itself is in `migrations/`."""
