"""States of workloads count attempts: those in inline read models are folded anew.

Revision ID: 0011
Revises: 0010
Create Date: 2026-11-23
"""

from alembic import op

from headgate.adapters.postgres.row_rewrite import rewrite_rows

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    rewrite_rows(op.get_bind().connection.driver_connection)


def downgrade() -> None:
    """The code before ignores the number."""
