"""Leases of executors, and when the API last served: what an executor's silence is judged by.

Revision ID: 0015
Revises: 0014
Create Date: 2026-11-23
"""

from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        """
        CREATE TABLE executor_lease (
            executor text COLLATE "C" PRIMARY KEY,
            epoch bigint NOT NULL,
            renewed_at bigint NOT NULL,
            expires_at bigint NOT NULL,
            running_pods bigint NOT NULL
        );
        CREATE TABLE api_service (
            id boolean PRIMARY KEY DEFAULT true CHECK (id),
            served_at bigint NOT NULL
        );
        """
    )


def downgrade() -> None:
    op.execute("DROP TABLE executor_lease; DROP TABLE api_service")
