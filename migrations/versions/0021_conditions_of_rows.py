"""Rows of workloads show PodsScheduled, which earlier releases did not fold.

Revision ID: 0021
Revises: 0020
Create Date: 2026-11-27
"""

from alembic import op

from headgate.adapters.postgres.maintenance import rewrite_rows

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("SET LOCAL statement_timeout = 0")
    rewrite_rows(op.get_bind().connection.driver_connection)


def downgrade() -> None:
    """The code before folds the log itself, and its rows are written with the next events."""
