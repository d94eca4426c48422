"""Checkpoints of followers name the chain value of the log that they stand at.

Revision ID: 0010
Revises: 0009
Create Date: 2026-11-23
"""

from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE follower ADD COLUMN chain bytea")


def downgrade() -> None:
    op.execute("ALTER TABLE follower DROP COLUMN chain")
