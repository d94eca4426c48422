"""Finished workloads that retention deletes are found by their rows.

`due_at` of one that has finished is when its own time to live is over.

Revision ID: 0026
Revises: 0025
Create Date: 2026-11-27
"""

from alembic import op

from headgate.adapters.postgres.maintenance import fill_expiries

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None

INDEXES = {
    "workload_finished": "(finished_at) WHERE finished_at IS NOT NULL",
    "workload_expiring": "(due_at) WHERE finished_at IS NOT NULL AND due_at IS NOT NULL",
}


def upgrade() -> None:
    op.execute("SET LOCAL statement_timeout = 0")
    fill_expiries(op.get_bind().connection.driver_connection)
    for name, rule in INDEXES.items():
        op.execute(f"CREATE INDEX IF NOT EXISTS {name} ON workload {rule}")


def downgrade() -> None:
    for name in INDEXES:
        op.execute(f"DROP INDEX IF EXISTS {name}")
