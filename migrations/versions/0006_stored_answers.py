"""Stored answers leave their position null, as it stands in the column beside them.

Revision ID: 0006
Revises: 0005
Create Date: 2026-11-23
"""

from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

MARKED = "position(decode('1e', 'hex') IN answer) > 0"
"""Answers in which a byte that JSON never contains stands for the position of their append."""


def upgrade() -> None:
    unmarked = (
        "replace(replace(convert_from(answer, 'UTF8'), '\"' || chr(30) || '\"', 'null'),"
        " chr(30), 'null')"
    )
    op.execute(f"UPDATE idempotency SET answer = convert_to({unmarked}, 'UTF8') WHERE {MARKED}")


def downgrade() -> None:
    """Answers without a position are read by the code before as well, with null in its place."""
