"""Records of what workers planned.

Revision ID: 0002
Revises: 0001
Create Date: 2026-11-21
"""

from pathlib import Path

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

SQL = Path(__file__).parents[1] / "sql"


def upgrade() -> None:
    statements = (SQL / "cycles_v2.sql").read_text()
    op.get_bind().connection.driver_connection.execute(statements)


def downgrade() -> None:
    op.execute("DROP TABLE cycle_record")
