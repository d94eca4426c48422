"""Causes of alerts, when each opened and closed, and the process that records them.

Revision ID: 0039
Revises: 0038
Create Date: 2026-11-28
"""

from alembic import op

revision = "0039"
down_revision = "0038"
branch_labels = None
depends_on = None

UPGRADE = """
    CREATE TABLE cause_record (
        key text COLLATE "C" NOT NULL,
        opened_at bigint NOT NULL,
        closed_at bigint,
        kind text COLLATE "C" NOT NULL,
        severity text COLLATE "C" NOT NULL,
        title text NOT NULL,
        unit text COLLATE "C" NOT NULL,
        count bigint NOT NULL,
        gpu_seconds bigint NOT NULL,
        link text NOT NULL,
        CONSTRAINT cause_record_pkey PRIMARY KEY (key, opened_at)
    );
    CREATE INDEX cause_record_closed_at ON cause_record (closed_at);
    CREATE TABLE cause_recorder (
        id boolean NOT NULL DEFAULT true,
        holder text COLLATE "C" NOT NULL,
        expires_at timestamptz NOT NULL,
        CONSTRAINT cause_recorder_pkey PRIMARY KEY (id)
    );
"""


def upgrade() -> None:
    op.execute(UPGRADE)


def downgrade() -> None:
    op.execute("DROP TABLE cause_record")
    op.execute("DROP TABLE cause_recorder")
