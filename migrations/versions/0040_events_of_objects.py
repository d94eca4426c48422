"""Events of anything but workloads are found by their type.

They are few, and a chart asks for changes of configuration, stops and outages of a whole range.

Appends wait while it is built, as with every index of a table in partitions.

Revision ID: 0040
Revises: 0039
Create Date: 2026-11-28
"""

from alembic import op

revision = "0040"
down_revision = "0039"
branch_labels = None
depends_on = None

INDEXES = {"event": "event_of_objects", "event_archive": "event_archive_of_objects"}


def upgrade() -> None:
    op.execute("SET LOCAL statement_timeout = 0")
    for table, name in INDEXES.items():
        op.execute(
            f"CREATE INDEX {name} ON {table} (type, position)"
            " WHERE NOT starts_with(stream, 'workload/')"
        )


def downgrade() -> None:
    for name in INDEXES.values():
        op.execute(f"DROP INDEX {name}")
