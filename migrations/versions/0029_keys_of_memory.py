"""What followers remember is found by a digest, which is shorter than what it is remembered for.

Two of its rows for each workload took more room in their index than in the table.

Revision ID: 0029
Revises: 0028
Create Date: 2026-11-27
"""

from alembic import op

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None

# The same digest as `ProjectionRows` takes.
UPGRADE = """
    CREATE TABLE memory_by_digest (
        key bytea NOT NULL,
        generation integer NOT NULL,
        follower text COLLATE "C" NOT NULL,
        value bytea NOT NULL
    );
    INSERT INTO memory_by_digest
    SELECT substr(sha256(convert_to(concat_ws(chr(10), follower, generation, key), 'UTF8')), 1, 15),
        generation, follower, value
    FROM follower_memory;
    DROP TABLE follower_memory;
    ALTER TABLE memory_by_digest RENAME TO follower_memory;
    ALTER TABLE follower_memory ADD CONSTRAINT follower_memory_pkey PRIMARY KEY (key);
"""
# The keys are not known any more: followers begin with the first event.
DOWNGRADE = """
    DROP TABLE follower_memory;
    CREATE TABLE follower_memory (
        follower text COLLATE "C" NOT NULL,
        generation integer NOT NULL,
        key text COLLATE "C" NOT NULL,
        value bytea NOT NULL,
        CONSTRAINT follower_memory_pkey PRIMARY KEY (follower, generation, key)
    );
    DELETE FROM queue_history;
    DELETE FROM workload_pod;
    UPDATE follower SET position = 0, chain = NULL;
"""


def upgrade() -> None:
    op.execute("SET LOCAL statement_timeout = 0")
    op.get_bind().connection.driver_connection.execute(UPGRADE)


def downgrade() -> None:
    op.get_bind().connection.driver_connection.execute(DOWNGRADE)
