"""Workloads have an owner, of older ones the user of their submission, and count attempts.

Revision ID: 0011
Revises: 0010
Create Date: 2026-11-23
"""

from pathlib import Path

from alembic import op

from headgate.adapters.postgres.maintenance import rewrite_rows

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

SQL = Path(__file__).parents[1] / "sql"


def upgrade() -> None:
    op.execute("SET LOCAL statement_timeout = 0")
    op.execute("ALTER TABLE workload ADD COLUMN owner text COLLATE \"C\" NOT NULL DEFAULT ''")
    op.execute("CREATE INDEX workload_owner ON workload (owner, created_at, stream)")
    _write_rows_by("log_write_rows_v11")
    rewrite_rows(op.get_bind().connection.driver_connection)
    op.execute("UPDATE workload SET owner = coalesce(state #>> '{owner,user}', '')")


def downgrade() -> None:
    op.execute("DROP FUNCTION log_write_rows(jsonb, bytea, bigint[])")
    _write_rows_by("log_write_rows_v1")
    op.execute("ALTER TABLE workload DROP COLUMN owner")


def _write_rows_by(name: str) -> None:
    op.get_bind().connection.driver_connection.execute((SQL / f"{name}.sql").read_text())
