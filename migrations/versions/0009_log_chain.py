"""A hash chain over all events, computed for those that are stored.

Revision ID: 0009
Revises: 0008
Create Date: 2026-11-23
"""

from pathlib import Path

from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

SQL = Path(__file__).parents[1] / "sql"
REPLACED = (
    "log_append_decisions(jsonb, bytea, jsonb, text, text, bigint)",
    "log_append_decisions(jsonb, bytea, text, text, bigint)",
    "log_append(jsonb, bytea, jsonb)",
    "log_append(jsonb, bytea)",
    "log_gone_points(jsonb)",
    "log_chain_run(jsonb, bytea, bigint[], bytea)",
    "event_link(bigint, integer, smallint, text, text, bytea)",
    "log_chain_at(bigint)",
    "log_wake(jsonb, bigint[])",
    "log_write_events(jsonb, bytea, bigint[])",
    "log_body(bytea, integer, integer)",
    "log_judge(jsonb, bigint)",
    "log_conflict(text)",
    "partition_lock(text)",
)
"""What reads and writes the chain, and all that the file of the functions before makes anew."""


def upgrade() -> None:
    # One pass over all events may take longer than a statement is given.
    op.execute("SET LOCAL statement_timeout = 0")
    op.get_bind().connection.driver_connection.execute((SQL / "log_chain_v9.sql").read_text())


def downgrade() -> None:
    for function in REPLACED:
        op.execute(f"DROP FUNCTION {function}")
    op.execute("DROP TABLE log_chain")
    op.get_bind().connection.driver_connection.execute((SQL / "log_append_v1.sql").read_text())
