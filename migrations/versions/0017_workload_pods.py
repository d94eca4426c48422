"""Pods of workloads: a followed read model with a row for each run of each pod.

Revision ID: 0017
Revises: 0016
Create Date: 2026-11-23
"""

from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

# Columns beside the key have defaults: a row may begin with any of them.
TABLE = """
    CREATE TABLE workload_pod (
        generation integer NOT NULL,
        workload text COLLATE "C" NOT NULL,
        attempt bigint NOT NULL,
        pod_set text COLLATE "C" NOT NULL,
        pod_index bigint NOT NULL,
        run bigint NOT NULL,
        is_newest boolean NOT NULL DEFAULT true,
        rank bigint,
        state text COLLATE "C" NOT NULL DEFAULT 'Assigned',
        node text COLLATE "C" NOT NULL DEFAULT '',
        exit_code bigint,
        signal bigint,
        reason text,
        message text NOT NULL DEFAULT '',
        started_at bigint,
        ready_at bigint,
        finished_at bigint,
        result text NOT NULL DEFAULT '',
        CONSTRAINT workload_pod_pkey
            PRIMARY KEY (generation, workload, attempt, pod_set, pod_index, run)
    )
"""


def upgrade() -> None:
    op.execute(TABLE)


def downgrade() -> None:
    op.execute("DROP TABLE workload_pod")
    op.execute("DELETE FROM follower_memory WHERE follower = 'workload_pod'")
    op.execute("DELETE FROM follower WHERE name = 'workload_pod'")
