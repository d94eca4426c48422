"""Rows of workloads that have ended stand in a table of their own, without gaps.

`workload` has both as its partitions, so that processes of the release before read it as they did.

Revision ID: 0037
Revises: 0036
Create Date: 2026-11-27
"""

from pathlib import Path

from alembic import op

revision = "0037"
down_revision = "0036"
branch_labels = None
depends_on = None

SQL = Path(__file__).parents[1] / "sql"
APPEND = "log_append(jsonb, bytea, jsonb, bytea, integer)"
DOWNGRADE = """
    DROP VIEW stream;
    CREATE TABLE workload_after (LIKE workload INCLUDING DEFAULTS)
        WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);
    INSERT INTO workload_after SELECT * FROM workload ORDER BY created_at, stream;
    DROP TABLE workload;
    ALTER TABLE workload_after RENAME TO workload;
    ALTER TABLE workload ADD CONSTRAINT workload_pkey PRIMARY KEY (stream);
    CREATE INDEX workload_created_at ON workload (created_at);
    CREATE INDEX workload_namespace_phase ON workload (namespace, phase, created_at);
    CREATE INDEX workload_owner ON workload (owner, created_at);
    CREATE INDEX workload_phase ON workload (phase, created_at);
    CREATE INDEX workload_phase_name ON workload ((phase || ''), name);
    CREATE INDEX workload_stuck ON workload (stuck_since, created_at DESC, stream DESC)
        WHERE stuck_cause <> '';
    CREATE INDEX workload_waits ON workload (cluster_queue, size_class, reserved_at)
        WHERE reserved_at IS NOT NULL;
    CREATE INDEX workload_finished ON workload (finished_at) WHERE finished_at IS NOT NULL;
    CREATE INDEX workload_expiring ON workload (due_at)
        WHERE finished_at IS NOT NULL AND due_at IS NOT NULL;
    CREATE INDEX workload_reserved_at ON workload (reserved_at) WHERE reserved_at IS NOT NULL;
    CREATE VIEW stream AS
        SELECT name, version, position FROM stream_version
        UNION ALL
        SELECT stream, version, position FROM workload;
"""


def upgrade() -> None:
    _begin()
    _run((SQL / "ended_rows_v37.sql").read_text())


def downgrade() -> None:
    _begin()
    _run(DOWNGRADE)
    _run((SQL / "log_write_rows_v34.sql").read_text())
    _run(_versions_before())
    op.execute(f"ALTER FUNCTION {APPEND} RESET enable_material")
    op.execute("DROP FUNCTION workload_has_ended(text)")


def _begin() -> None:
    op.execute("SET LOCAL statement_timeout = 0")
    op.execute("SELECT FROM log_head FOR UPDATE")


def _versions_before() -> str:
    made = (SQL / "stream_versions_v31.sql").read_text()
    begins = made.index("FUNCTION log_write_versions(")
    return f"CREATE OR REPLACE {made[begins : made.index('$$;', begins)]}$$;"


def _run(statements: str) -> None:
    op.get_bind().connection.driver_connection.execute(statements)
