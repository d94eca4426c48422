"""Sessions into pods: frames between users and executors, which are never part of the log.

Revision ID: 0018
Revises: 0017
Create Date: 2026-11-23
"""

from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        """
        CREATE UNLOGGED TABLE pod_session (
            id text PRIMARY KEY,
            executor text NOT NULL,
            content bytea NOT NULL,
            created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            input_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            user_seen_at timestamptz,
            executor_seen_at timestamptz,
            input_number bigint NOT NULL DEFAULT 0,
            output_number bigint NOT NULL DEFAULT 0,
            has_ended boolean NOT NULL DEFAULT false
        );
        CREATE INDEX pod_session_executor ON pod_session (executor);
        CREATE UNLOGGED TABLE pod_session_frame (
            session text NOT NULL REFERENCES pod_session ON DELETE CASCADE,
            to_executor boolean NOT NULL,
            number bigint NOT NULL,
            content bytea NOT NULL,
            PRIMARY KEY (session, to_executor, number)
        );
        """
    )


def downgrade() -> None:
    op.execute("DROP TABLE pod_session_frame; DROP TABLE pod_session")
