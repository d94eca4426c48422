"""Parts that cached folds share.

Revision ID: 0004
Revises: 0003
Create Date: 2026-11-21
"""

from pathlib import Path

from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

SQL = Path(__file__).parents[1] / "sql"


def upgrade() -> None:
    statements = (SQL / "state_part_v4.sql").read_text()
    op.get_bind().connection.driver_connection.execute(statements)


def downgrade() -> None:
    op.execute("DELETE FROM state_cache")
    op.execute("ALTER TABLE state_cache DROP COLUMN parts")
    op.execute("DROP TABLE state_part")
