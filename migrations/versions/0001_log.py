"""The log with its guards and inline read models.

Revision ID: 0001
Revises:
Create Date: 2026-11-21
"""

from pathlib import Path

from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

SQL = Path(__file__).parents[1] / "sql"
FILES = ("tables_v1", "append_only_v1", "log_write_rows_v1", "log_append_v1")
TABLES = (
    "queue_history",
    "preemption_ledger",
    "follower_memory",
    "follower",
    "state_cache",
    "token",
    "round_victim",
    "round",
    "workload",
    "object",
    "partition",
    "idempotency",
    "stream",
    "event",
    "log_head",
)
FUNCTIONS = (
    "log_append_decisions(jsonb, bytea, text, text, bigint)",
    "log_append(jsonb, bytea)",
    "log_wake(jsonb, bigint[])",
    "log_write_events(jsonb, bytea, bigint[])",
    "log_judge(jsonb, bigint)",
    "log_write_rows(jsonb, bytea, bigint[])",
    "log_body(bytea, integer, integer)",
    "log_conflict(text)",
    "partition_lock(text)",
    "extend_log(bigint)",
    "protect_from_change(regclass)",
    "refuse_change()",
)


def upgrade() -> None:
    for name in FILES:
        # By the driver alone: colons and percent signs in functions are not parameters.
        op.get_bind().connection.driver_connection.execute((SQL / f"{name}.sql").read_text())


def downgrade() -> None:
    for table in TABLES:
        op.execute(f"DROP TABLE {table}")
    for function in FUNCTIONS:
        op.execute(f"DROP FUNCTION {function}")
