"""The event log, its read models and locks in Postgres: all SQL stands here."""
