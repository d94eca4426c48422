"""Runs the migrations on one database, one process at a time, without waiting long."""

from alembic import context
from sqlalchemy import Connection, create_engine, pool, text

MIGRATION_LOCK = 730_501
LOCK_TIMEOUT = "10s"
STATEMENT_TIMEOUT = "10min"


def run() -> None:
    url = context.config.get_main_option("sqlalchemy.url")
    engine = create_engine(url, poolclass=pool.NullPool)
    with engine.connect() as connection:
        # Held by the session, so that a second process waits for the whole of the migration.
        connection.execute(text("SELECT pg_advisory_lock(:number)"), {"number": MIGRATION_LOCK})
        connection.execute(text(f"SET lock_timeout = '{LOCK_TIMEOUT}'"))
        connection.execute(text(f"SET statement_timeout = '{STATEMENT_TIMEOUT}'"))
        connection.commit()
        migrate(connection)
    engine.dispose()


def migrate(connection: Connection) -> None:
    context.configure(connection=connection)
    with context.begin_transaction():
        context.run_migrations()


run()
