"""The index of streams has 64 versions of a stream in one entry, with its name once.

With the version itself, the name of the stream stood in it once more for each event.

Appends wait while it is built: Postgres builds no index of a table in partitions beside them, and
none inside a transaction, so that a migration that is broken off would leave a part of it.

Revision ID: 0033
Revises: 0032
Create Date: 2026-11-27
"""

from alembic import op

revision = "0033"
down_revision = "0032"
branch_labels = None
depends_on = None

INDEXES = {"event": "event_stream", "event_archive": "event_archive_stream_version_idx"}


def upgrade() -> None:
    _index("(stream, (version >> 6))")


def downgrade() -> None:
    _index("(stream, version)")


def _index(columns: str) -> None:
    op.execute("SET LOCAL statement_timeout = 0")
    for table, name in INDEXES.items():
        op.execute(f"DROP INDEX {name}")
        op.execute(f"CREATE INDEX {name} ON {table} {columns}")
