"""States in inline read models hold codes instead of sentences: they are folded anew.

Revision ID: 0008
Revises: 0007
Create Date: 2026-11-23
"""

from alembic import op

from headgate.adapters.postgres.maintenance import rewrite_rows

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    rewrite_rows(op.get_bind().connection.driver_connection)


def downgrade() -> None:
    """The code before folds the log itself, and its rows are written with the next events."""
