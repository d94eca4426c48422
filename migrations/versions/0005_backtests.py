"""Backtests and their progress.

Revision ID: 0005
Revises: 0004
Create Date: 2026-11-21
"""

from pathlib import Path

from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

SQL = Path(__file__).parents[1] / "sql"


def upgrade() -> None:
    statements = (SQL / "backtests_v5.sql").read_text()
    op.get_bind().connection.driver_connection.execute(statements)


def downgrade() -> None:
    op.execute("DROP TABLE backtest")
