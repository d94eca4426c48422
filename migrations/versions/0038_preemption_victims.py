"""Victims of preemption rounds: a followed read model, from which preemptions are summed.

Revision ID: 0038
Revises: 0037
Create Date: 2026-11-28
"""

from alembic import op

revision = "0038"
down_revision = "0037"
branch_labels = None
depends_on = None

# Beside the key, columns have defaults as in every followed read model.
UPGRADE = """
    CREATE TABLE preemption_victim (
        generation integer NOT NULL,
        round text COLLATE "C" NOT NULL,
        victim text COLLATE "C" NOT NULL,
        position bigint NOT NULL DEFAULT 0,
        committed_at bigint NOT NULL DEFAULT 0,
        preemptor text COLLATE "C" NOT NULL DEFAULT '',
        preemptor_priority bigint NOT NULL DEFAULT 0,
        preemptor_queue text COLLATE "C" NOT NULL DEFAULT '',
        preemptor_cohort text COLLATE "C" NOT NULL DEFAULT '',
        victim_queue text COLLATE "C" NOT NULL DEFAULT '',
        victim_cohort text COLLATE "C" NOT NULL DEFAULT '',
        rule text COLLATE "C" NOT NULL DEFAULT '',
        gpu_seconds bigint NOT NULL DEFAULT 0,
        is_first boolean NOT NULL DEFAULT false,
        is_first_of_queue boolean NOT NULL DEFAULT false,
        is_first_of_rule boolean NOT NULL DEFAULT false,
        CONSTRAINT preemption_victim_pkey PRIMARY KEY (generation, round, victim)
    );
    CREATE INDEX preemption_victim_committed_at
        ON preemption_victim (generation, committed_at);
"""


def upgrade() -> None:
    op.execute(UPGRADE)


def downgrade() -> None:
    op.execute("DROP TABLE preemption_victim")
    op.execute("DELETE FROM follower_memory WHERE follower = 'preemption_victim'")
    op.execute("DELETE FROM follower WHERE name = 'preemption_victim'")
