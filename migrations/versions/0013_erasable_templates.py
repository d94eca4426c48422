"""Objects and pod templates as written may be erased, by a function alone.

Revision ID: 0013
Revises: 0012
Create Date: 2026-11-23
"""

from pathlib import Path

from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

SQL = Path(__file__).parents[1] / "sql"


def upgrade() -> None:
    statements = (SQL / "written_objects_v13.sql").read_text()
    op.get_bind().connection.driver_connection.execute(statements)


def downgrade() -> None:
    op.execute("DROP TRIGGER append_only ON written_object")
    op.execute("REVOKE DELETE ON written_object FROM CURRENT_USER")
    op.execute(
        "CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON written_object "
        "FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()"
    )
    op.execute("DROP FUNCTION written_object_erase(text[])")
    op.execute("DROP FUNCTION refuse_change_of_written()")
    op.execute("DROP FUNCTION written_object_hold()")
