"""Tokens have grants and groups, and may belong to service accounts.

Revision ID: 0014
Revises: 0013
Create Date: 2026-11-23
"""

from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

GRANTS = """
    ALTER TABLE token
        ADD COLUMN grants jsonb NOT NULL DEFAULT '[]',
        ADD COLUMN groups jsonb NOT NULL DEFAULT '[]',
        ADD COLUMN account text COLLATE "C" NOT NULL DEFAULT ''
"""
ACCOUNT = """
    CREATE TABLE service_account (
        name text COLLATE "C" CONSTRAINT service_account_pkey PRIMARY KEY,
        grants jsonb NOT NULL,
        groups jsonb NOT NULL,
        created_at bigint NOT NULL
    )
"""


def upgrade() -> None:
    op.execute(GRANTS)
    op.execute(ACCOUNT)


def downgrade() -> None:
    # Code from before knows neither accounts nor roles bound to queues: their tokens are void.
    op.execute(
        "DELETE FROM token WHERE account <> '' "
        "OR role NOT IN ('viewer', 'submitter', 'executor', 'admin') "
        "OR (role = 'viewer' AND namespaces <> '[]')"
    )
    op.execute("DROP TABLE service_account")
    op.execute("ALTER TABLE token DROP COLUMN grants, DROP COLUMN groups, DROP COLUMN account")
