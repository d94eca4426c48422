"""Objects as their authors wrote them, once for each digest.

Revision ID: 0007
Revises: 0006
Create Date: 2026-11-23
"""

from pathlib import Path

from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

SQL = Path(__file__).parents[1] / "sql"


def upgrade() -> None:
    statements = (SQL / "written_objects_v7.sql").read_text()
    op.get_bind().connection.driver_connection.execute(statements)


def downgrade() -> None:
    op.execute("DROP TABLE written_object")
