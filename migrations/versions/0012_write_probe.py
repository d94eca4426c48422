"""A table into which processes write now and then to see whether writes succeed.

Revision ID: 0012
Revises: 0011
Create Date: 2026-11-23
"""

from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("CREATE UNLOGGED TABLE write_probe (filler text STORAGE PLAIN NOT NULL)")


def downgrade() -> None:
    op.execute("DROP TABLE write_probe")
