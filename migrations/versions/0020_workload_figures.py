"""Workloads tell how many GPUs and pods they request, and how long they waited and ran.

Revision ID: 0020
Revises: 0019
Create Date: 2026-11-27
"""

from pathlib import Path

from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None

SQL = Path(__file__).parents[1] / "sql"
FIGURES = ("gpus", "pods", "executed_seconds")
INSTANTS = ("admitted_at", "finished_at")
_FILL = """
    UPDATE workload SET
        gpus = coalesce((
            SELECT sum(coalesce((s->>'count')::bigint, 1) * r.value::bigint)
            FROM json_array_elements(state #> '{spec,pod_sets}') AS s,
                json_each_text(s #> '{scheduling,requests}') AS r
            WHERE r.key LIKE '%/gpu'), 0),
        pods = coalesce((
            SELECT sum(coalesce((s->>'count')::bigint, 1))
            FROM json_array_elements(state #> '{spec,pod_sets}') AS s), 0),
        executed_seconds = coalesce((state->>'accumulated_execution_seconds')::bigint, 0),
        admitted_at = (
            SELECT (c->>'last_transition_at')::bigint
            FROM json_array_elements(state->'conditions') AS c
            WHERE c->>'type' = 'Admitted' AND (c->>'status')::boolean),
        finished_at = (state->>'finished_at')::bigint
"""


def upgrade() -> None:
    op.execute("SET LOCAL statement_timeout = 0")
    for column in FIGURES:
        op.execute(f"ALTER TABLE workload ADD COLUMN {column} bigint NOT NULL DEFAULT 0")
    for column in INSTANTS:
        op.execute(f"ALTER TABLE workload ADD COLUMN {column} bigint")
    _write_rows_by("log_write_rows_v20")
    op.get_bind().connection.driver_connection.execute(_FILL)


def downgrade() -> None:
    op.execute("DROP FUNCTION log_write_rows(jsonb, bytea, bigint[])")
    _write_rows_by("log_write_rows_v11")
    for column in (*FIGURES, *INSTANTS):
        op.execute(f"ALTER TABLE workload DROP COLUMN {column}")


def _write_rows_by(name: str) -> None:
    op.get_bind().connection.driver_connection.execute((SQL / f"{name}.sql").read_text())
