"""Workloads are counted beside their rows, and listed by phase in the order of an index.

A count reads a few rows and not all. The index of namespaces leads by phase to the newest rows.

Revision ID: 0023
Revises: 0022
Create Date: 2026-11-27
"""

from pathlib import Path

from alembic import op

from headgate.adapters.postgres.maintenance import count_workloads

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None

SQL = Path(__file__).parents[1] / "sql"
TABLE = """
    CREATE TABLE IF NOT EXISTS workload_tally (
        namespace text COLLATE "C" NOT NULL,
        local_queue text COLLATE "C" NOT NULL,
        cluster_queue text COLLATE "C" NOT NULL,
        owner text COLLATE "C" NOT NULL,
        phase text COLLATE "C" NOT NULL,
        priority bigint NOT NULL,
        stuck_cause text COLLATE "C" NOT NULL,
        workloads bigint NOT NULL,
        gpus bigint NOT NULL,
        pods bigint NOT NULL,
        CONSTRAINT workload_tally_pkey PRIMARY KEY (
            namespace, local_queue, cluster_queue, owner, phase, priority, stuck_cause)
    ) WITH (fillfactor = 50)
"""
OF_NAMESPACES = "workload_namespace"
BY_PHASE = "workload_namespace_phase"


def upgrade() -> None:
    op.execute("SET LOCAL statement_timeout = 0")
    op.execute(TABLE)
    _write_rows_by("log_write_rows_v23")
    count_workloads(op.get_bind().connection.driver_connection)
    columns = "(namespace, phase, created_at, stream)"
    op.execute(f"CREATE INDEX IF NOT EXISTS {BY_PHASE} ON workload {columns}")
    op.execute(f"DROP INDEX IF EXISTS {OF_NAMESPACES}")


def downgrade() -> None:
    op.execute("DROP FUNCTION log_write_rows(jsonb, bytea, bigint[])")
    _write_rows_by("log_write_rows_v22")
    op.execute("DROP TABLE workload_tally")
    op.execute(f"CREATE INDEX {OF_NAMESPACES} ON workload (namespace, created_at, stream)")
    op.execute(f"DROP INDEX {BY_PHASE}")


def _write_rows_by(name: str) -> None:
    op.get_bind().connection.driver_connection.execute((SQL / f"{name}.sql").read_text())
