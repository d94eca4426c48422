"""A place for old partitions of the log, and one view of all of it.

Revision ID: 0003
Revises: 0002
Create Date: 2026-11-21
"""

from pathlib import Path

from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

SQL = Path(__file__).parents[1] / "sql"
REFUSE_IF_USED = """
DO $$ BEGIN
    IF EXISTS (SELECT FROM pg_inherits WHERE inhparent = 'event_archive'::regclass) THEN
        RAISE EXCEPTION 'archived facts stand in event_archive; attach them to event first';
    END IF;
END $$
"""


def upgrade() -> None:
    statements = (SQL / "archive_v3.sql").read_text()
    op.get_bind().connection.driver_connection.execute(statements)


def downgrade() -> None:
    op.get_bind().connection.driver_connection.execute(REFUSE_IF_USED)
    op.execute("DROP VIEW event_whole")
    op.execute("DROP TABLE event_archive")
