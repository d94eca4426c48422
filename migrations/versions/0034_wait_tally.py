"""Waits that ended in a reservation of quota are counted beside the rows of workloads.

How long workloads waited in a day reads a few rows for each quarter of an hour, and not one for
each workload.

Revision ID: 0034
Revises: 0033
Create Date: 2026-11-27
"""

from pathlib import Path

from alembic import op

revision = "0034"
down_revision = "0033"
branch_labels = None
depends_on = None

SQL = Path(__file__).parents[1] / "sql"
TABLE = """
    CREATE TABLE wait_tally (
        slot bigint NOT NULL,
        cluster_queue text COLLATE "C" NOT NULL,
        wait_seconds bigint NOT NULL,
        workloads bigint NOT NULL,
        CONSTRAINT wait_tally_pkey PRIMARY KEY (slot, cluster_queue, wait_seconds)
    ) WITH (fillfactor = 70)
"""
SLOT = """
    CREATE FUNCTION wait_slot(instant bigint) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS 'SELECT $1 / 900000000'
"""
ROUNDED = """
    CREATE FUNCTION rounded_wait(waited bigint) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
        SELECT greatest($1 / 1000000, 0) - greatest($1 / 1000000, 0) % CASE
            WHEN $1 < 60000000 THEN 1
            WHEN $1 < 300000000 THEN 2
            WHEN $1 < 900000000 THEN 10
            WHEN $1 < 3600000000 THEN 30
            WHEN $1 < 14400000000 THEN 120
            WHEN $1 < 43200000000 THEN 600
            WHEN $1 < 86400000000 THEN 1800
            WHEN $1 < 259200000000 THEN 3600
            ELSE 21600
        END
    $$
"""
COUNTED = """
    INSERT INTO wait_tally
    SELECT wait_slot(reserved_at), cluster_queue, rounded_wait(reserved_at - created_at), count(*)
    FROM workload WHERE reserved_at IS NOT NULL GROUP BY 1, 2, 3
"""


def upgrade() -> None:
    op.execute("SET LOCAL statement_timeout = 0")
    for statement in (TABLE, SLOT, ROUNDED):
        op.execute(statement)
    _write_rows_by("log_write_rows_v34")
    # No append comes between the rows that are counted and the ones that move the counts.
    op.execute("SELECT FROM log_head FOR NO KEY UPDATE")
    op.execute(COUNTED)


def downgrade() -> None:
    _write_rows_by("log_write_rows_v27")
    op.execute("DROP TABLE wait_tally")
    op.execute("DROP FUNCTION rounded_wait(bigint)")
    op.execute("DROP FUNCTION wait_slot(bigint)")


def _write_rows_by(name: str) -> None:
    op.get_bind().connection.driver_connection.execute((SQL / f"{name}.sql").read_text())
