"""Rows of workloads show since when and why they are stuck, and how long their kind waited.

Revision ID: 0022
Revises: 0021
Create Date: 2026-11-27
"""

from pathlib import Path

from alembic import op

from headgate.adapters.postgres.maintenance import fill_read_columns

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None

SQL = Path(__file__).parents[1] / "sql"
INSTANTS = ("stuck_since", "reserved_at")
TEXTS = ("stuck_cause", "size_class")
INDEXES = {
    "workload_stuck": "(stuck_since, created_at DESC, stream DESC) WHERE stuck_cause <> ''",
    "workload_waits": "(cluster_queue, size_class, reserved_at) WHERE reserved_at IS NOT NULL",
    "workload_reserved_at": "(reserved_at) WHERE reserved_at IS NOT NULL",
}


def upgrade() -> None:
    op.execute("SET LOCAL statement_timeout = 0")
    for column in INSTANTS:
        op.execute(f"ALTER TABLE workload ADD COLUMN IF NOT EXISTS {column} bigint")
    for column in TEXTS:
        rule = "text COLLATE \"C\" NOT NULL DEFAULT ''"
        op.execute(f"ALTER TABLE workload ADD COLUMN IF NOT EXISTS {column} {rule}")
    _write_rows_by("log_write_rows_v22")
    fill_read_columns(op.get_bind().connection.driver_connection)
    for name, rule in INDEXES.items():
        op.execute(f"CREATE INDEX IF NOT EXISTS {name} ON workload {rule}")


def downgrade() -> None:
    op.execute("DROP FUNCTION log_write_rows(jsonb, bytea, bigint[])")
    _write_rows_by("log_write_rows_v20")
    for column in (*INSTANTS, *TEXTS):
        op.execute(f"ALTER TABLE workload DROP COLUMN {column}")


def _write_rows_by(name: str) -> None:
    op.get_bind().connection.driver_connection.execute((SQL / f"{name}.sql").read_text())
