"""Secrets that notifications of webhooks are signed with; they never stand in the log.

Revision ID: 0024
Revises: 0023
Create Date: 2026-11-27
"""

from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        """
        CREATE TABLE webhook_secret (
            id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            webhook text COLLATE "C" NOT NULL,
            secret text NOT NULL,
            created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            expires_at timestamptz
        );
        CREATE INDEX webhook_secret_of ON webhook_secret (webhook);
        """
    )


def downgrade() -> None:
    op.execute("DROP TABLE webhook_secret")
