"""Rendezvous ports: each reserved for one running attempt at an executor.

Revision ID: 0019
Revises: 0018
Create Date: 2026-11-23
"""

from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        """
        CREATE TABLE rendezvous_port (
            executor text COLLATE "C" NOT NULL,
            port integer NOT NULL,
            uid text NOT NULL,
            attempt bigint NOT NULL,
            reserved_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            PRIMARY KEY (executor, port),
            UNIQUE (uid, attempt, executor)
        )
        """
    )


def downgrade() -> None:
    op.execute("DROP TABLE rendezvous_port")
