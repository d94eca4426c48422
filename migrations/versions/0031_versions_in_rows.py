"""The version of a workload stands in its row, and no longer a second time in `stream`.

`stream` is a view from now on, so that processes of the release before read it as they did.

Revision ID: 0031
Revises: 0030
Create Date: 2026-11-27
"""

from pathlib import Path

from alembic import op

revision = "0031"
down_revision = "0030"
branch_labels = None
depends_on = None

SQL = Path(__file__).parents[1] / "sql"
FUNCTIONS = (
    "log_append_decisions(jsonb, bytea, jsonb, bytea, integer, text, text, bigint)",
    "log_append(jsonb, bytea, jsonb, bytea, integer)",
    "log_write_versions(jsonb, bigint[])",
    "log_write_events(jsonb, bytea, bytea, bigint[])",
)
DOWNGRADE = """
    CREATE TABLE stream_after (
        name text COLLATE "C" NOT NULL,
        version integer NOT NULL,
        position bigint NOT NULL
    ) WITH (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.02);
    INSERT INTO stream_after SELECT name, version, position FROM stream ORDER BY name;
    DROP VIEW stream;
    DROP TABLE stream_version;
    ALTER TABLE stream_after RENAME TO stream;
    ALTER TABLE stream ADD CONSTRAINT stream_pkey PRIMARY KEY (name);
"""


def upgrade() -> None:
    _begin()
    _run((SQL / "stream_versions_v31.sql").read_text())


def downgrade() -> None:
    _begin()
    _run(DOWNGRADE)
    for function in FUNCTIONS:
        op.execute(f"DROP FUNCTION {function}")
    _run((SQL / "compressed_append_v27.sql").read_text())


def _begin() -> None:
    op.execute("SET LOCAL statement_timeout = 0")
    op.execute("SELECT FROM log_head FOR UPDATE")


def _run(statements: str) -> None:
    op.get_bind().connection.driver_connection.execute(statements)
