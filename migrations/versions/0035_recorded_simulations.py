"""What-ifs are recorded beside backtests, by kind and author.

Those that are kept so far are all backtests; their bodies name their authors.

Revision ID: 0035
Revises: 0034
Create Date: 2026-11-27
"""

import msgspec
from alembic import op

revision = "0035"
down_revision = "0034"
branch_labels = None
depends_on = None


class Authored(msgspec.Struct):
    """The part of a stored backtest that names its author."""

    created_by: str


def upgrade() -> None:
    op.execute(
        """
        ALTER TABLE backtest
            ADD kind text COLLATE "C" NOT NULL DEFAULT 'Backtest',
            ADD author text COLLATE "C" NOT NULL DEFAULT ''
        """
    )
    connection = op.get_bind().connection.driver_connection
    for name, body in connection.execute("SELECT id, body FROM backtest").fetchall():
        author = msgspec.msgpack.decode(body, type=Authored).created_by
        connection.execute("UPDATE backtest SET author = %s WHERE id = %s", (author, name))


def downgrade() -> None:
    op.execute("DELETE FROM backtest WHERE kind <> 'Backtest'")
    op.execute("ALTER TABLE backtest DROP kind, DROP author")
